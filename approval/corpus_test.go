package approval_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// TestCorpus runs the cases about approvals, as far as the library decides them. Package agent
// tests what the loop does with an answer, and the daemon what is sent over a socket; each such
// case says so.
func TestCorpus(t *testing.T) {
	cases := corpus.Area(t, "agentkit-commaagents-parachute.json", "approval", "permission-wire", "permission+persistence")
	corpus.Claim(t, cases, map[string]func(*testing.T, corpus.Case){
		"approval": answerCase, "permission-wire": wireCase, "xx-004": corpus.Test(`{"given": {"state":"allow-session taken, daemon restarts, run resumed"}, "when": ["same access"], "expect": {"asked again or restored by stated policy; the decision is in the log either way":true}}`, restartCase),
	}, nil)
}

// approvalCase is a case in plain words.
type approvalCase struct {
	given, when, expect string
	fields              map[string]string // of given
}

func read(t *testing.T, c corpus.Case) approvalCase {
	t.Helper()
	given := map[string]any{}
	var when []string
	c.Decode(t, c.Setup(), &given)
	c.Decode(t, c.Action(), &when)
	s := approvalCase{when: strings.Join(when, "; "), expect: string(c.Expect()), fields: map[string]string{}}
	for k, v := range given {
		s.fields[k] = fmt.Sprint(v)
	}
	s.given = string(c.Setup())
	return s
}

var (
	callID  = regexp.MustCompile(`\bc\d+\b`)
	quoted  = regexp.MustCompile(`'([^']*)'`)
	patched = regexp.MustCompile(`\{(\w+): (\w+)\}`)
	guarded = regexp.MustCompile(`asks for (\S+) (\S+) by agent (\S+) tool (\S+)`)
	amount  = regexp.MustCompile(`(\d+) ?(KB|MB|min|s|h)\b`)
)

// calls lists the calls that a text names, in order; c1 if it names none.
func calls(text string) []string {
	var out []string
	for _, id := range callID.FindAllString(text, -1) {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	if len(out) == 0 {
		return []string{"c1"}
	}
	return out
}

// answerOf returns the answer in a text.
func answerOf(text string) approval.Answer {
	a := approval.Answer{Decision: approval.Allow, Actor: "person"}
	switch {
	case strings.Contains(text, "cancel"):
		a.Decision, a.Message = approval.Deny, "approval cancelled"
	case strings.Contains(text, "deny-session"):
		a.Decision = approval.DenySession
	case strings.Contains(text, "deny"):
		a.Decision = approval.Deny
	case strings.Contains(text, "allow-session"):
		a.Decision = approval.AllowSession
	}
	if m := quoted.FindStringSubmatch(text); m != nil && !a.Decision.Allows() {
		a.Message = m[1]
	}
	if strings.Contains(text, "patch") && a.Decision == approval.Allow {
		a.Input = json.RawMessage(`{"value":"patched"}`)
		if m := patched.FindStringSubmatch(text); m != nil {
			a.Input = json.RawMessage(fmt.Sprintf("{%q:%q}", m[1], m[2]))
		}
	}
	return a
}

// answerCase answers each call's request as the case says, in its order. An answer applies only to
// its own request, is stored unchanged, and creates a grant only for a session decision.
func answerCase(t *testing.T, c corpus.Case) {
	sc := read(t, c)
	s, _ := newSessions()
	l := newLog(t, s, "s")
	original := json.RawMessage(`{"value":"original"}`)
	asked := calls(sc.given + sc.when)
	for _, id := range asked {
		r := policy.Request{Tool: "danger", Resource: id, Input: original}
		q := approval.New([]policy.Request{r}, policy.Decision{Use: id, Tool: "danger", By: "policies"}, approval.RequestOptions{ID: "q-" + id, At: start})
		must(l.Append(t.Context(), must(session.NewDraft(record.KindApprovalAsked, q))(t)))(t)
	}
	// A call has not started before its answer.
	if st := must(l.Snapshot(t.Context()))(t); len(st.Running) != 0 || len(st.OpenApprovals) != len(asked) {
		t.Fatalf("%+v", st)
	}
	given := answerOf(sc.given + sc.when)
	order := asked
	if strings.Contains(sc.when, " then ") {
		order = calls(sc.when)
	}
	left := slices.Clone(asked)
	for _, id := range order {
		a := given
		a.RequestID = "q-" + id
		got := must(approval.Resolve(t.Context(), s, "s", a))(t)
		left = slices.DeleteFunc(left, func(o string) bool { return o == id })
		var want []string
		for _, o := range left {
			want = append(want, "q-"+o)
		}
		if open := ids(must(approval.Pending(t.Context(), s, "s"))(t)); !slices.Equal(open, want) {
			t.Errorf("after %s: %v are open, want %v", id, open, want)
		}
		if got.Message != given.Message || string(got.Input) != string(given.Input) || got.Decision != given.Decision {
			t.Errorf("the answer became %+v", got)
		}
		q, recorded, err := approval.Find(t.Context(), s, a.RequestID)
		if err != nil || recorded == nil || string(q.Requests[0].Input) != string(original) || string(recorded.Input) != string(given.Input) {
			t.Errorf("the record does not keep both inputs: %+v %+v %v", q, recorded, err)
		}
		if _, err := q.Grant(got); (err == nil) != got.Decision.Session() {
			t.Errorf("%s creates a grant: %v", got.Decision, err)
		}
	}
	var expect struct {
		Result json.RawMessage `json:"result"`
	}
	c.Part(t, c.Expect(), &expect) // the rest belongs to the agent
	var result struct {
		IsError bool   `json:"is_error"`
		Text    string `json:"text"`
	}
	if json.Unmarshal(expect.Result, &result) == nil && result.IsError {
		if got := answers(t, s, "s")[0]; got.Decision.Allows() || got.Message != result.Text {
			t.Errorf("the model gets %q, want %q", got.Message, result.Text)
		}
	}
}

// wireCase runs the part of a wire case that needs no wire.
func wireCase(t *testing.T, c corpus.Case) {
	sc := read(t, c)
	handled := 0
	for _, part := range []func(*testing.T, corpus.Case, approvalCase) bool{
		wireRequestFields, wireNonePending, wireDecides, wireStops, wireComesLater, wireOtherClients, wireExpires, wireOverrides, wireCaps,
	} {
		if part(t, c, sc) {
			handled++
		}
	}
	if handled == 0 {
		t.Logf("belongs to the daemon: %s", c.Raw)
	}
}

// wireRequestFields checks that a request has the fields of request_permission.
func wireRequestFields(t *testing.T, c corpus.Case, sc approvalCase) bool {
	m := guarded.FindStringSubmatch(sc.fields["guard"])
	if m == nil {
		return false
	}
	r := policy.Request{Session: "run", Agent: m[3], Tool: m[4], Operation: policy.Operation(m[1]), Resource: m[2]}
	q := approval.New([]policy.Request{r}, asked("u", m[4]), approval.RequestOptions{ID: "perm-1", At: start})
	var expect struct{ Message map[string]string }
	c.Decode(t, c.Expect(), &expect)
	for field, have := range map[string]string{
		"agentName": q.Agent, "toolName": q.Tool, "operation": string(q.Requests[0].Operation), "resource": q.Requests[0].Resource, "reason": q.Reason,
	} {
		if want, ok := expect.Message[field]; ok && have != want {
			t.Errorf("%s is %q, want %q", field, have, want)
		}
	}
	if b := must(json.Marshal(q))(t); !strings.Contains(string(b), `"asked_at":"2026-05-01T09:00:00Z"`) {
		t.Errorf("the time is not ISO 8601 with its zone: %s", b)
	}
	return true
}

// pending appends the request P1.
func pending(t *testing.T) (*session.Sessions, *session.Log, approval.Request) {
	t.Helper()
	s, _ := newSessions()
	l := newLog(t, s, "s")
	return s, l, put(t, l, newRequest("P1", "ls"))
}

func wireNonePending(t *testing.T, _ corpus.Case, sc approvalCase) bool {
	if sc.fields["pending"] != "none" {
		return false
	}
	s, _ := newSessions()
	newLog(t, s, "s")
	_, err := approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: "perm-uuid-1234", Decision: approval.Allow})
	wantErr(t, err, approval.ErrNoRequest)
	return true
}

// wireDecides checks that a known decision closes the request without a policy change, and that an
// unknown one leaves it open.
func wireDecides(t *testing.T, _ corpus.Case, sc approvalCase) bool {
	decision, ok := sc.fields["decision"]
	if !ok {
		fields := strings.Fields(sc.when)
		if len(fields) != 3 || fields[0] != "permission_decision" {
			return false
		}
		decision = fields[2]
	}
	s, l, q := pending(t)
	a, err := approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: q.ID, Decision: approval.Decision(decision)})
	open := must(approval.Pending(t.Context(), s, "s"))(t)
	if strings.Contains(sc.expect, "VALIDATION_ERROR") {
		wantErr(t, err, approval.ErrInvalid)
		if len(open) != 1 {
			t.Error("the request is no longer open")
		}
		return true
	}
	if err != nil || len(open) != 0 || string(a.Decision) != decision {
		t.Errorf("%+v %v, %d open", a, err, len(open))
	}
	for _, r := range must(l.Refresh(t.Context()))(t) {
		if r.Kind == record.KindPolicyChanged {
			t.Error("the policy changed")
		}
	}
	return true
}

// wireStops checks that stopping a run denies its request; a decision after that is too late.
func wireStops(t *testing.T, _ corpus.Case, sc approvalCase) bool {
	if !strings.Contains(sc.when, "stop_run") {
		return false
	}
	s, _, q := pending(t)
	must(approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: q.ID, Decision: approval.Deny, Stop: true, Actor: "stop_run"}))(t)
	if open := must(approval.Pending(t.Context(), s, ""))(t); len(open) != 0 {
		t.Errorf("%v", ids(open))
	}
	_, err := approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: q.ID, Decision: approval.Allow})
	wantErr(t, err, approval.ErrAnswered)
	return true
}

// wireComesLater checks that a later client finds the request.
func wireComesLater(t *testing.T, _ corpus.Case, sc approvalCase) bool {
	if !strings.Contains(sc.when, "subscribes later") {
		return false
	}
	s, _, q := pending(t)
	later := session.New(s.Store(), nil)
	if open := must(approval.Pending(t.Context(), later, ""))(t); !slices.Equal(ids(open), []string{q.ID}) {
		t.Errorf("%v", ids(open))
	}
	return true
}

// wireOtherClients checks that the other clients receive who decided what.
func wireOtherClients(t *testing.T, _ corpus.Case, sc approvalCase) bool {
	if sc.fields["clients"] == "" {
		return false
	}
	synctest.Test(t, func(t *testing.T) {
		s := session.New(memory.New(), nil)
		q := put(t, newLog(t, s, "s"), newRequest("P1", "ls"))
		received := make(chan approval.Answer)
		go func() {
			a, err := approval.Wait(context.Background(), s, "s", q)
			if err != nil {
				t.Error(err)
			}
			received <- a
		}()
		synctest.Wait()
		must(approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: q.ID, Decision: approval.Deny, Actor: "A"}))(t)
		if a := <-received; a.Actor != "A" || a.Decision != approval.Deny {
			t.Errorf("%+v", a)
		}
	})
	return true
}

// wireExpires checks that a request without an answer in time is denied.
func wireExpires(t *testing.T, _ corpus.Case, sc approvalCase) bool {
	m := amount.FindStringSubmatch(sc.fields["timeout"])
	if m == nil {
		return false
	}
	unit := map[string]time.Duration{"s": time.Second, "min": time.Minute, "h": time.Hour}[m[2]]
	timeout := time.Duration(must(strconv.Atoi(m[1]))(t)) * unit
	synctest.Test(t, func(t *testing.T) {
		s := session.New(memory.New(), nil)
		q := approval.New([]policy.Request{command("ls")}, asked("u", "Bash"), approval.RequestOptions{ID: "P1", At: time.Now(), Timeout: timeout})
		q = put(t, newLog(t, s, "s"), q)
		began := time.Now()
		a := must(approval.Wait(t.Context(), s, "s", q))(t)
		if a.Decision != approval.Deny || a.Actor != "timeout" || time.Since(began) != timeout {
			t.Errorf("%+v after %s", a, time.Since(began))
		}
	})
	return true
}

// wireOverrides checks that a call that the session denies can be allowed once, and that the denial
// stays.
func wireOverrides(t *testing.T, _ corpus.Case, sc approvalCase) bool {
	if !strings.Contains(sc.expect, record.ReasonOverride) {
		return false
	}
	guards := must(policy.New(&policy.Config{NewID: func() string { return "g" }, Folders: []string{"/w"}}))(t)
	denied := policy.Request{Tool: "Write", Operation: policy.OpWrite, Resource: "/w/a.txt"}
	g := policy.Grant{Effect: policy.Deny, Tool: "Write", Operation: policy.OpWrite, Resource: "/w/a.txt"}
	if err := guards.Apply(must(guards.Check(policy.Change{Grant: &g}))(t)); err != nil {
		t.Fatal(err)
	}
	judge := func(override bool) policy.Decision {
		r := denied
		r.Override = override
		return guards.Guard("Write").Judge(t.Context(), []policy.Request{r}, nil)
	}
	d := judge(true)
	d.Use, d.Tool = "u", "Write"
	s, _ := newSessions()
	q := put(t, newLog(t, s, "s"), approval.New([]policy.Request{denied}, d, approval.RequestOptions{ID: "P1", At: start}))
	if q.Reason != record.ReasonOverride || len(q.Scopes) != 0 {
		t.Errorf("%+v", q)
	}
	_, err := approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: "P1", Decision: approval.AllowSession})
	wantErr(t, err, approval.ErrInvalid)
	a := must(approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: "P1", Decision: approval.Allow}))(t)
	if _, err := q.Grant(a); err == nil {
		t.Error("an override creates a grant")
	}
	if d := judge(false); d.Effect != policy.Deny {
		t.Errorf("the denial was removed: %+v", d)
	}
	return true
}

// wireCaps checks that details are cut, with their size and digest. The daemon masks secrets; a
// user at the terminal sees what will run.
func wireCaps(t *testing.T, _ corpus.Case, sc approvalCase) bool {
	m := amount.FindStringSubmatch(sc.fields["details"])
	if m == nil {
		return false
	}
	size := must(strconv.Atoi(m[1]))(t) * map[string]int{"KB": 1 << 10, "MB": 1 << 20}[m[2]]
	r := policy.Request{Tool: "Write", Operation: policy.OpWrite, Resource: "/w/a", Display: strings.Repeat("x", size)}
	q := approval.New([]policy.Request{r}, asked("u", "Write"), approval.RequestOptions{ID: "P1"})
	shown := q.Requests[0].Display
	if len(shown) > approval.MaxShown+200 || !strings.Contains(shown, strconv.Itoa(size)) || !strings.Contains(shown, session.Digest(sha256.Sum256([]byte(r.Display))).String()) {
		t.Errorf("%d bytes are shown, that end in %q", len(shown), shown[max(0, len(shown)-200):])
	}
	return true
}

// restartCase checks that a session decision and its grant are in the log after a restart, and stay
// in force until the run ends.
func restartCase(t *testing.T, _ corpus.Case) {
	config := func() *policy.Config {
		return &policy.Config{NewID: func() string { return "g" }, Folders: []string{"/w"}}
	}
	store := memory.New()
	s := session.New(store, nil)
	l := newLog(t, s, "s")
	q := put(t, l, newRequest("q", "npm run test"))
	a := must(approval.Resolve(t.Context(), s, "s", approval.Answer{RequestID: "q", Decision: approval.AllowSession}))(t)
	g := must(q.Grant(a))(t)
	c := must(must(policy.New(config()))(t).Check(policy.Change{Grant: &g}))(t)
	must(l.Append(t.Context(), must(session.NewDraft(record.KindPolicyChanged, c))(t)))(t)
	finishUse(t, l, q)

	s = session.New(store, nil) // in a new process
	for _, ended := range []bool{false, true} {
		r := must(s.Restore(t.Context(), session.RestoreOptions{SessionID: "s", Takeover: true}))(t)
		guards := must(policy.New(config()))(t)
		for _, payload := range r.State.Policy {
			var c policy.Change
			if err := json.Unmarshal(payload, &c); err != nil {
				t.Fatal(err)
			}
			if err := guards.Apply(c); err != nil {
				t.Fatal(err)
			}
		}
		want := policy.Allow
		if ended {
			want = policy.Ask
		}
		if d := guards.Guard("Bash").Judge(t.Context(), q.Requests, nil); d.Effect != want {
			t.Errorf("run ended %v: %+v", ended, d)
		}
		must(r.Log.Append(t.Context(), must(session.NewDraft(record.KindPolicyChanged, policy.Change{Ended: true}))(t)))(t)
		r.Log.Close()
	}
	if _, recorded, err := approval.Find(t.Context(), s, "q"); err != nil || recorded == nil || recorded.Decision != approval.AllowSession {
		t.Errorf("the decision is not in the log: %+v %v", recorded, err)
	}
}
