package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// approvalCase plays a call that needs approval, as the case describes it.
func approvalCase(t *testing.T, c corpus.Case) {
	var when []string
	var expect map[string]json.RawMessage
	var given struct{ State, Policy, Call string }
	c.Decode(t, c.Action(), &when)
	c.Decode(t, c.Expect(), &expect)
	c.Decode(t, c.Setup(), &given)
	text := strings.Join(when, "; ")
	verb := regexp.MustCompile(`cancel|deny|denied|reject|approve|allow|approval given`)
	if !verb.MatchString(text) { // the case begins with the answer
		text = given.State
	}
	said := func(words string) bool { return regexp.MustCompile(words).MatchString(text) }
	quoted := regexp.MustCompile(`'([^']*)'`).FindStringSubmatch(text)

	var patch json.RawMessage
	if said("patch") {
		patch = json.RawMessage(`{"value":"patched"}`)
		if m := regexp.MustCompile(`\{(\w+): (\w+)\}`).FindStringSubmatch(text); m != nil {
			patch = json.RawMessage(`{"` + m[1] + `":"` + m[2] + `"}`)
		}
	}
	asked := 0
	danger := &runner{probe: probe{name: "danger"}}
	danger.run = func(_ context.Context, c *tool.Call) (tool.Result, error) {
		danger.inputs = append(danger.inputs, string(c.Input))
		return tool.Text("danger:executed"), nil
	}
	s := sessions(t)
	var a *agent.Agent
	call := step{uses: []transcript.ToolUse{use("c1", "danger", push)}}
	a = newAgent(t, play(t, call, step{text: "ok"}, call, step{text: "ok"}), asking(agent.Options{
		Sessions: s, Session: session.RestoreOptions{SessionID: "one"}, Tools: registry(t, danger),
		Permissions: agent.Permissions{Ask: func(ctx context.Context, _ approval.Request) (approval.Answer, error) {
			if asked++; asked == 1 && slices.Contains(kinds(t, s, "one"), record.KindToolStarted) {
				t.Error("the tool has started before there is an answer")
			}
			switch {
			case said("cancel"):
				a.Interrupt()
				<-ctx.Done()
				return approval.Answer{}, ctx.Err()
			case said("deny|denied|reject"):
				ans := approval.Answer{Decision: approval.Deny}
				if quoted != nil {
					ans.Message = quoted[1]
				}
				return ans, nil
			case said("approve|allow|approval given"):
				return approval.Answer{Decision: approval.Allow, Input: patch}, nil
			}
			return approval.Answer{}, approval.ErrSuspend
		}},
	}))
	var resolved *event.ApprovalResolved
	finished := false
	for e, err := range a.Run(t.Context(), transcript.Text{Text: "go"}) {
		if err != nil && !errors.Is(err, approval.ErrSuspend) {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case event.ApprovalResolved:
			resolved = &e
		case event.TurnFinished:
			finished = true
		}
	}
	defer a.Close()
	got := results(t, a)["c1"]
	original, records := a.Snapshot().Items[1].Uses()[0].Input, payloads(t, s, "one", record.KindApprovalAsked)
	records = append(records, payloads(t, s, "one", record.KindApprovalResolved)...)
	if err := transcript.Validate(a.Snapshot().Items); finished && err != nil {
		t.Error(err)
	}
	for key, raw := range expect {
		var word string
		var result struct {
			IsError bool `json:"is_error"`
			Text    string
		}
		_ = json.Unmarshal(raw, &word)
		_ = json.Unmarshal(raw, &result)
		switch key {
		case "tool runs":
			var n int
			c.Decode(t, raw, &n)
			if len(danger.inputs) != n {
				t.Errorf("ran %d times, want %d", len(danger.inputs), n)
			}
		case "result":
			if word != "" {
				result.Text = word
			}
			if got.IsError != result.IsError || !strings.Contains(got.Text(), result.Text) {
				t.Errorf("result %q, error %v, want %+v", got.Text(), got.IsError, result)
			}
		case "turn":
			if !finished {
				t.Error("the turn does not finish")
			}
		case "event":
			if want := strings.HasSuffix(word, "approved=true"); resolved == nil || resolved.Answer.Decision.Allows() != want {
				t.Errorf("resolved %+v, want %q", resolved, word)
			}
		case "started event":
			if string(raw) == "false" && len(danger.inputs) > 0 {
				t.Error("it has run")
			}
		case "tool receives", "tool input":
			want := push
			if strings.Contains(word, "patch") {
				want = string(patch)
			}
			if !slices.Equal(danger.inputs, []string{want}) {
				t.Errorf("it ran with %v, want %s", danger.inputs, want)
			}
		case "transcript tool_call input":
			if want := map[bool]string{true: push, false: string(patch)}[word == "original"]; string(original) != want {
				t.Errorf("the transcript holds %s, want %s", original, want)
			}
		case "approval record":
			if all := strings.Join(records, " "); !strings.Contains(all, push) || !strings.Contains(all, string(patch)) {
				t.Errorf("the records do not keep both: %s", all)
			}
		case "remembered":
			prompt(t, a, "again")
			if again := asked == 2; again != (string(raw) == "false") || len(a.Guards().Grants()) > 0 == again {
				t.Errorf("asked %d times about the same call, %d grants", asked, len(a.Guards().Grants()))
			}
		default:
			t.Errorf("unchecked expectation %s: %s", key, raw)
		}
	}
}

// testAnswersByID checks that one approval request of a round waits at a time, because the next call
// may depend on the first. An answer to another one is rejected, and the waiting one is returned again.
func testAnswersByID(t *testing.T) {
	bash := command("Bash")
	a := newAgent(t, play(t, pushCall(2), step{text: "ok"}), asking(agent.Options{Tools: registry(t, bash)}))
	d := a.Driver(nil)
	if err := d.Submit(t.Context(), transcript.Text{Text: "go"}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"c1", "c2"} {
		st, err := d.Next(t.Context())
		if err != nil || len(st.Approvals) != 1 || st.Approvals[0].Use != want {
			t.Fatalf("%+v, %v", st, err)
		}
		q := st.Approvals[0]
		if err := d.Resolve(t.Context(), "another", approval.Answer{Decision: approval.Allow}); !errors.Is(err, approval.ErrNoRequest) {
			t.Errorf("an answer to another request: %v", err)
		}
		if st, err = d.Next(t.Context()); err != nil || st.Approvals[0].ID != q.ID {
			t.Errorf("surfaced %+v, %v", st, err)
		}
		if err := d.Resolve(t.Context(), q.ID, approval.Answer{Decision: approval.Allow}); err != nil {
			t.Fatal(err)
		}
	}
	if st, err := d.Next(t.Context()); err != nil || !st.AfterToolResult() || len(bash.inputs) != 2 {
		t.Errorf("%+v, %v, ran %v", st, err, bash.inputs)
	}
}
