package approval_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

func TestPending(t *testing.T) {
	s, c := newSessions()
	if got, err := approval.Pending(t.Context(), s, ""); err != nil || len(got) != 0 {
		t.Fatalf("%v %v", got, err)
	}
	_, err := approval.Pending(t.Context(), s, "none")
	wantErr(t, err, session.ErrNotFound)

	a, b, tree := newLog(t, s, "a"), newLog(t, s, "b"), newLog(t, s, "wt-c")
	ask := func(l *session.Log, id string, minutes int) approval.Request {
		q := newRequest(id, "npm run "+id)
		q.AskedAt = start.Add(time.Duration(minutes) * time.Minute)
		return put(t, l, q)
	}
	q1 := ask(a, "q1", 1)
	must(approval.Resolve(t.Context(), s, "a", approval.Answer{RequestID: "q1", Decision: approval.Deny}))(t)
	finishUse(t, a, q1)
	q4 := ask(a, "q4", 4)
	q2 := ask(tree, "q2", 2)
	ask(b, "q3", 3)
	must(approval.Resolve(t.Context(), s, "b", approval.Answer{RequestID: "q3", Decision: approval.Deny}))(t)
	for i := range 10 { // whatever records follow
		if err := s.Rename(t.Context(), "a", fmt.Sprint(i)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string][]string{"": {"q2", "q4"}, "a": {"q4"}, "b": {}, "wt-c": {"q2"}} {
		if got := ids(must(approval.Pending(t.Context(), s, name))(t)); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	got := must(approval.Pending(t.Context(), s, ""))(t)
	if d := cmp.Diff([]approval.Request{q2, q4}, got); d != "" {
		t.Errorf("(-want +got)\n%s", d)
	}
	// An expired request is open until a record denies it.
	c.now = start.Add(time.Duration(100) * time.Minute)
	if got := must(approval.Pending(t.Context(), s, ""))(t); len(got) != 2 {
		t.Errorf("%v", ids(got))
	}
	// A fork has no requests of its parent.
	must(s.Fork(t.Context(), "a", &session.ForkOptions{ID: "fork"}))(t)
	if got := must(approval.Pending(t.Context(), s, "fork"))(t); len(got) != 0 {
		t.Errorf("%v", ids(got))
	}
}

func TestPendingInOneSession(t *testing.T) {
	s, _ := newSessions()
	l := newLog(t, s, "s")
	for _, id := range []string{"c", "a", "b"} { // with the same time, so that the order of the log decides
		d := must(session.NewDraft(record.KindApprovalAsked, newRequest(id, "ls")))(t)
		must(l.Append(t.Context(), d))(t)
	}
	if got := ids(must(approval.Pending(t.Context(), s, ""))(t)); !slices.Equal(got, []string{"c", "a", "b"}) {
		t.Errorf("%v", got)
	}
	// Each request is tracked by its id: answering one leaves the others open.
	must(approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: "a", Decision: approval.Allow}))(t)
	if got := ids(must(approval.Pending(t.Context(), s, "s"))(t)); !slices.Equal(got, []string{"c", "b"}) {
		t.Errorf("%v", got)
	}
}

func TestPendingWithUnreadableLog(t *testing.T) {
	s, _ := newSessions()
	must(newLog(t, s, "bad").Append(t.Context(), session.Draft{Kind: record.KindApprovalAsked, Payload: []byte(`{"id":[]}`)}))(t)
	put(t, newLog(t, s, "good"), newRequest("q", "ls"))
	got, err := approval.Pending(t.Context(), s, "")
	wantErr(t, err, session.ErrCorrupt)
	if !slices.Equal(ids(got), []string{"q"}) {
		t.Errorf("%v", ids(got))
	}
	q, a, err := approval.Find(t.Context(), s, "q")
	if err != nil || q.ID != "q" || a != nil {
		t.Errorf("%v %v %v", q, a, err)
	}
	_, _, err = approval.Find(t.Context(), s, "r")
	wantErr(t, err, session.ErrCorrupt)
}

func TestFind(t *testing.T) {
	s, _ := newSessions()
	a, b := newLog(t, s, "a"), newLog(t, s, "wt-b")
	done := put(t, a, newRequest("01AAA", "ls"))
	answer := must(approval.Resolve(t.Context(), s, "a", approval.Answer{RequestID: "01AAA", Decision: approval.Deny, Actor: "ann"}))(t)
	finishUse(t, a, done)
	put(t, a, newRequest("01ABB", "ls"))
	put(t, b, newRequest("01ABBC", "ls"))
	put(t, b, newRequest("02", "ls"))
	for name, c := range map[string]struct {
		id, want, session string
		answered          bool
	}{
		"by its id":                   {"02", "02", "wt-b", false},
		"by its beginning":            {"0", "", "", false},
		"the only open one":           {"01A", "", "", false},
		"an id that begins another":   {"01ABB", "01ABB", "a", false},
		"a longer beginning":          {"01ABBC", "01ABBC", "wt-b", false},
		"one that was answered":       {"01AAA", "01AAA", "a", true},
		"by its beginning, answered":  {"01AA", "01AAA", "a", true},
		"none":                        {"03", "", "", false},
		"nothing":                     {"", "", "", false},
		"space":                       {" ", "", "", false},
		"more than the id":            {"02x", "", "", false},
		"in another case":             {"01aaa", "", "", false},
		"what looks like a pattern":   {"%", "", "", false},
		"what looks like a pattern 2": {"01*", "", "", false},
	} {
		q, got, err := approval.Find(t.Context(), s, c.id)
		if c.want == "" {
			wantErr(t, err, approval.ErrNoRequest)
			continue
		}
		if err != nil || q.ID != c.want || q.Session != c.session || (got != nil) != c.answered {
			t.Errorf("%s: %q finds %q in %q (answer %v): %v", name, c.id, q.ID, q.Session, got, err)
		}
		if c.answered && cmp.Diff(answer, *got) != "" {
			t.Error(cmp.Diff(answer, *got))
		}
	}
}
