package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func TestResolveErrors(t *testing.T) {
	s, c := newSessions()
	l := newLog(t, s, "s")
	q := newRequest("q1", "npm run test")
	expires := start.Add(time.Minute)
	late := newRequest("q2", "ls")
	late.Expires = &expires
	put(t, l, q)
	finishUse(t, l, q)
	put(t, l, late)
	must(s.Create(context.Background(), session.Opened{SessionID: "empty"}))(t).Close()
	head := l.Head()
	for name, tt := range map[string]struct {
		session string
		a       approval.Answer
		now     time.Time
		want    error
	}{
		"no such session":           {"none", approval.Answer{RequestID: "q1", Decision: approval.Deny}, start, session.ErrNotFound},
		"no question":               {"empty", approval.Answer{RequestID: "q1", Decision: approval.Deny}, start, approval.ErrNoRequest},
		"another question":          {"s", approval.Answer{RequestID: "q", Decision: approval.Deny}, start, approval.ErrNoRequest},
		"it does not say which":     {"s", approval.Answer{Decision: approval.Deny}, start, approval.ErrInvalid},
		"no decision":               {"s", approval.Answer{RequestID: "q1"}, start, approval.ErrInvalid},
		"a scope of another tool":   {"s", approval.Answer{RequestID: "q1", Decision: approval.AllowSession, Scope: "Edit"}, start, approval.ErrInvalid},
		"too late by the clock":     {"s", approval.Answer{RequestID: "q2", Decision: approval.Allow, At: start}, expires, approval.ErrExpired},
		"too late by its own time":  {"s", approval.Answer{RequestID: "q2", Decision: approval.Allow, At: expires}, start, approval.ErrExpired},
		"too late, for the session": {"s", approval.Answer{RequestID: "q2", Decision: approval.AllowSession}, expires.Add(time.Hour), approval.ErrExpired},
	} {
		t.Run(name, func(t *testing.T) {
			c.now = tt.now
			a, err := approval.Resolve(t.Context(), s, tt.session, tt.a)
			wantErr(t, err, tt.want)
			if d := cmp.Diff(approval.Answer{}, a); d != "" {
				t.Error(d)
			}
		})
	}
	if m := must(s.Get(t.Context(), "s"))(t); m.Head != head || m.OpenApprovals != 2 {
		t.Errorf("something was appended: %+v", m)
	}
}

func TestResolveOnce(t *testing.T) {
	s, c := newSessions()
	l := newLog(t, s, "s")
	put(t, l, newRequest("q", "npm run test"))
	c.now = start.Add(90*time.Second + 1234*time.Microsecond)
	first := approval.Answer{RequestID: "q", Decision: approval.AllowSession, Scope: "Bash(npm run test:*)", Actor: "ann", Via: "cli"}
	got := must(approval.Resolve(t.Context(), s, "s", first))(t)
	want := first
	want.At = start.Add(90*time.Second + time.Millisecond)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if m := must(s.Get(t.Context(), "s"))(t); m.OpenApprovals != 0 {
		t.Errorf("%+v", m)
	}
	// The same answer from another client later returns the first one.
	c.now = c.now.Add(time.Hour)
	again := first
	again.Actor, again.Via, again.Message = "bob", "websocket", "also from me"
	if got := must(approval.Resolve(t.Context(), s, "s", again))(t); cmp.Diff(want, got) != "" {
		t.Error(cmp.Diff(want, got))
	}
	// A different answer returns the winner.
	for name, other := range map[string]approval.Answer{
		"another decision":    {RequestID: "q", Decision: approval.Deny},
		"allowed once":        {RequestID: "q", Decision: approval.Allow},
		"another scope":       {RequestID: "q", Decision: approval.AllowSession, Scope: "Bash(npm:*)"},
		"exactly this":        {RequestID: "q", Decision: approval.AllowSession},
		"a denial, too":       {RequestID: "q", Decision: approval.DenySession, Scope: "Bash(npm run test:*)"},
		"an input of its own": {RequestID: "q", Decision: approval.Allow, Input: json.RawMessage(`{}`)},
	} {
		_, err := approval.Resolve(t.Context(), s, "s", other)
		wantErr(t, err, approval.ErrAnswered)
		won, ok := errors.AsType[*approval.AnsweredError](err)
		if !ok || cmp.Diff(want, won.First) != "" || err.Error() != "the approval request was already answered: allow-session by ann" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d := cmp.Diff([]approval.Answer{want}, answers(t, s, "s")); d != "" {
		t.Error(d)
	}
}

// An answer that applies once adds one record and does not change the policy.
func TestResolveChangesNoPolicy(t *testing.T) {
	s, _ := newSessions()
	l := newLog(t, s, "s")
	put(t, l, newRequest("q", "ls"))
	head := l.Head()
	must(approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: "q", Decision: approval.Allow}))(t)
	recs := must(l.Refresh(t.Context()))(t)
	if len(recs) != 1 || recs[0].Kind != record.KindApprovalResolved || recs[0].Seq != head+1 {
		t.Errorf("%+v", recs)
	}
}

func TestResolveComparesInputs(t *testing.T) {
	s, _ := newSessions()
	put(t, newLog(t, s, "s"), newRequest("q", "ls"))
	answer := func(input string) error {
		a := approval.Answer{RequestID: "q", Decision: approval.Allow}
		if input != "" {
			a.Input = json.RawMessage(input)
		}
		_, err := approval.Resolve(t.Context(), s, "s", a)
		return err
	}
	for _, input := range []string{`{"command": "ls -l", "n": [1, 2]}`, `{"command":"ls -l","n":[1,2]}`, " {\n\"command\":\"ls -l\",\"n\":[1,2]}"} {
		if err := answer(input); err != nil {
			t.Errorf("%s: %v", input, err)
		}
	}
	for _, input := range []string{"", `{"command":"ls  -l","n":[1,2]}`, `{"command":"ls -l"}`} {
		wantErr(t, answer(input), approval.ErrAnswered)
	}
}

// A deny is accepted even after the expiry, because it is the default.
func TestResolveDeniesLate(t *testing.T) {
	for _, d := range []approval.Decision{approval.Deny, approval.DenySession} {
		s, c := newSessions()
		q := newRequest("q", "ls")
		expires := start.Add(time.Minute)
		q.Expires = &expires
		put(t, newLog(t, s, "s"), q)
		c.now = start.Add(time.Hour)
		a := must(approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: "q", Decision: d}))(t)
		if a.Decision != d || !a.At.Equal(c.now) {
			t.Errorf("%+v", a)
		}
		_, err := approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: "q", Decision: approval.Allow})
		wantErr(t, err, approval.ErrAnswered)
	}
}

// An override allows one call; the denial of the session stays.
func TestResolveOverride(t *testing.T) {
	s, _ := newSessions()
	d := asked("u", "Bash")
	d.AskReason = "policy-deny-override"
	q := approval.New(newRequest("q", "ls").Requests, d, approval.RequestOptions{ID: "q", At: start})
	put(t, newLog(t, s, "s"), q)
	_, err := approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: "q", Decision: approval.AllowSession})
	wantErr(t, err, approval.ErrInvalid)
	must(approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: "q", Decision: approval.Allow}))(t)
}

// contendedStore is a store in which other programs append before the first appends.
type contendedStore struct {
	*memory.Store
	others int
	append func()
	fail   error
}

func (c *contendedStore) Append(ctx context.Context, id string, b session.Batch) error {
	if c.append != nil && c.others > 0 && b.Records[0].Kind == record.KindApprovalResolved {
		c.others--
		c.append()
	}
	if err := c.fail; err != nil && b.Records[0].Kind == record.KindApprovalResolved {
		c.fail = nil
		if err := c.Store.Append(ctx, id, b); err != nil {
			return err
		}
		return err
	}
	return c.Store.Append(ctx, id, b)
}

func TestResolveRetries(t *testing.T) {
	store := &contendedStore{Store: memory.New(), others: 5}
	s := session.New(store, nil)
	l := newLog(t, s, "s")
	put(t, l, newRequest("q", "ls"))
	store.append = func() {
		if err := s.Rename(t.Context(), "s", fmt.Sprint("title ", store.others)); err != nil {
			t.Fatal(err)
		}
	}
	must(approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: "q", Decision: approval.Deny}))(t)
	if got := answers(t, s, "s"); len(got) != 1 || store.others != 0 {
		t.Errorf("%+v", got)
	}
}

func TestResolveLosesRace(t *testing.T) {
	store := &contendedStore{Store: memory.New(), others: 1}
	s := session.New(store, nil)
	put(t, newLog(t, s, "s"), newRequest("q", "ls"))
	store.append = func() {
		must(approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: "q", Decision: approval.Allow, Actor: "ann"}))(t)
	}
	_, err := approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: "q", Decision: approval.Deny, Actor: "bob"})
	if won, ok := errors.AsType[*approval.AnsweredError](err); !ok || won.First.Actor != "ann" {
		t.Errorf("%v", err)
	}
}

func TestResolveContext(t *testing.T) {
	store := &contendedStore{Store: memory.New(), others: 1 << 30}
	s := session.New(store, nil)
	put(t, newLog(t, s, "s"), newRequest("q", "ls"))
	ctx, cancel := context.WithCancel(t.Context())
	store.append = func() {
		if store.others < 1<<30-3 {
			cancel()
		}
		if err := s.Rename(t.Context(), "s", fmt.Sprint("title ", store.others)); err != nil {
			t.Fatal(err)
		}
	}
	_, err := approval.Resolve(ctx, s, "s", approval.Answer{RequestID: "q", Decision: approval.Deny})
	wantErr(t, err, context.Canceled)
	if got := answers(t, s, "s"); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

// An answer whose append had an unknown result can be given again safely.
func TestResolveUnknownAppend(t *testing.T) {
	store := &contendedStore{Store: memory.New()}
	s := session.New(store, nil)
	put(t, newLog(t, s, "s"), newRequest("q", "ls"))
	a := approval.Answer{RequestID: "q", Decision: approval.Allow, Actor: "ann"}
	store.fail = errors.New("the connection broke")
	_, _ = approval.Resolve(t.Context(), s, "s", a)
	got := must(approval.Resolve(t.Context(), s, "s", a))(t)
	if all := answers(t, s, "s"); len(all) != 1 || cmp.Diff(all[0], got) != "" {
		t.Errorf("%+v", all)
	}
}

// An unreadable request in the log is an error, never an open request.
func TestResolveOfDamagedRecords(t *testing.T) {
	for _, kind := range []session.Kind{record.KindApprovalAsked, record.KindApprovalResolved} {
		s, _ := newSessions()
		l := newLog(t, s, "s")
		put(t, l, newRequest("q", "ls"))
		must(l.Append(t.Context(), session.Draft{Kind: kind, Payload: []byte(`{"id":7}`)}))(t)
		_, err := approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: "q", Decision: approval.Allow})
		wantErr(t, err, session.ErrCorrupt)
		if session.Hint(err) != "holdfast sessions verify s" {
			t.Errorf("hint %q", session.Hint(err))
		}
		_, err = approval.Pending(t.Context(), s, "s")
		if kind == record.KindApprovalAsked {
			wantErr(t, err, session.ErrCorrupt)
		}
	}
}

// The answer to a request in a fork does not affect the parent.
func TestResolveInFork(t *testing.T) {
	s, _ := newSessions()
	l := newLog(t, s, "s")
	put(t, l, newRequest("q", "ls"))
	id := must(s.Fork(t.Context(), "s", &session.ForkOptions{ID: "fork"}))(t)
	_, err := approval.Resolve(t.Context(), s, id, approval.Answer{RequestID: "q", Decision: approval.Allow})
	wantErr(t, err, approval.ErrNoRequest)
	must(approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: "q", Decision: approval.Allow}))(t)
}
