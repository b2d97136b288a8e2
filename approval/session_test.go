package approval_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// start is the start time of the tests' clocks.
var start = time.Date(2026, 5, 1, 9, 0, 0, 0, time.UTC)

// clock is a clock that only moves when it is set.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func wantErr(t testing.TB, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("got error %v, want %v", err, target)
	}
}

// newSessions returns an empty set of sessions and its clock.
func newSessions() (*session.Sessions, *clock) {
	c := &clock{now: start}
	return session.New(memory.New(), &session.Options{Clock: c.Now}), c
}

func newLog(t testing.TB, s *session.Sessions, id string) *session.Log {
	t.Helper()
	l := must(s.Create(context.Background(), session.Opened{SessionID: id}))(t)
	t.Cleanup(func() { l.Close() })
	return l
}

func command(line string) policy.Request {
	return policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: line, Cwd: "/w"}
}

func asked(use, tool string) policy.Decision {
	return policy.Decision{
		Use: use, Tool: tool, Effect: policy.Ask, By: "mode default", Reason: "mode default asks", Mode: policy.ModeDefault, AskReason: record.ReasonAsk,
	}
}

// newRequest returns an approval request for a command.
func newRequest(id, line string) approval.Request {
	return approval.New([]policy.Request{command(line)}, asked("use-"+id, "Bash"), approval.RequestOptions{ID: id, Cwd: "/w", Home: "/home/u", At: start})
}

// put appends a request to a log, with its tool use.
func put(t testing.TB, l *session.Log, q approval.Request) approval.Request {
	t.Helper()
	use := transcript.Item{
		ID: "item-" + q.ID, Role: transcript.RoleAssistant,
		Parts: []transcript.Part{transcript.ToolUse{ID: q.Use, Name: q.Tool, Input: json.RawMessage(`{}`)}},
	}
	d := must(session.NewDraft(record.KindApprovalAsked, q))(t)
	must(l.Append(context.Background(), session.ItemDraft(use.MustEncode(), false, nil), d))(t)
	q.Session = l.ID()
	return q
}

// finishUse appends the result of a request's tool use, as the agent does.
func finishUse(t testing.TB, l *session.Log, q approval.Request) {
	t.Helper()
	it := transcript.ToolResult{UseID: q.Use}.Item()
	it.ID = "result-" + q.ID
	must(l.Append(context.Background(), session.ItemDraft(it.MustEncode(), false, nil)))(t)
}

// answers returns the payloads of a session's approval.resolved records.
func answers(t testing.TB, s *session.Sessions, id string) []approval.Answer {
	t.Helper()
	var all []approval.Answer
	for r, err := range s.Records(context.Background(), id, session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind != record.KindApprovalResolved {
			continue
		}
		var a approval.Answer
		if err := json.Unmarshal(r.Payload, &a); err != nil {
			t.Fatal(err)
		}
		all = append(all, a)
	}
	return all
}

func ids(qs []approval.Request) []string {
	out := []string{}
	for _, q := range qs {
		out = append(out, q.ID)
	}
	return out
}
