package question

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/forms"
	"github.com/holdfast-dev/holdfast/internal/savedrule"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// newTestAsker returns an asker whose approver types into a pipe, and the printer that shows the run.
func newTestAsker(t *testing.T, width int) (a *Asker, others *term.Printer, screen *bytes.Buffer, types func(string)) {
	in, typed := io.Pipe()
	t.Cleanup(func() { _ = typed.Close() })
	screen = &bytes.Buffer{}
	others = term.NewPrinter(screen, term.Style{TTY: true, Dumb: true, Width: width})
	a = &Asker{Prompter: term.NewPrompter(term.NewKeyboard(in), others), now: time.Now, by: "ann"}
	return a, others, screen, func(s string) { _, _ = io.WriteString(typed, s) }
}

func commandRequest(id, command string) approval.Request {
	return approval.Request{ID: id, Tool: "Bash", Agent: id, Requests: []policy.Request{{Tool: "Bash", Operation: policy.OpCommand, Resource: command}}}
}

// Several sub-agents request approvals at the same time: a key answers the request on the screen and no other.
func TestOneRequestAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, screen, types := newTestAsker(t, 120)
		answers := map[string]chan approval.Answer{}
		ask := func(id string) {
			answers[id] = make(chan approval.Answer, 1)
			go func() {
				ans, err := a.Ask(t.Context(), commandRequest(id, "touch "+id))
				if err != nil {
					t.Errorf("%s: %v", id, err)
				}
				answers[id] <- ans
			}()
			synctest.Wait()
		}
		ask("one")
		ask("two")
		if seen := screen.String(); !strings.Contains(seen, "touch one") || strings.Contains(seen, "touch two") {
			t.Errorf("both are on the screen:\n%s", seen)
		}
		types("y\n")
		if ans := <-answers["one"]; ans.Decision != approval.Allow {
			t.Errorf("the yes was for the first one: %+v", ans)
		}
		synctest.Wait()
		if !strings.Contains(screen.String(), "touch two") {
			t.Errorf("the second one was not asked:\n%s", screen)
		}
		types("n\n")
		if ans := <-answers["two"]; ans.Decision != approval.Deny || ans.RequestID != "two" {
			t.Errorf("the no was for the second one: %+v", ans)
		}
	})
}

// A request that waits behind another one can be canceled, and does not block later requests.
func TestWaitingAskerCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, _, types := newTestAsker(t, 120)
		done := make(chan approval.Answer, 1)
		go func() {
			ans, _ := a.Ask(t.Context(), commandRequest("one", "touch one"))
			done <- ans
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan error, 1)
		go func() {
			_, err := a.Ask(ctx, commandRequest("two", "touch two"))
			left <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-left; err == nil {
			t.Error("it has an answer")
		}
		types("y\n")
		if ans := <-done; ans.Decision != approval.Allow {
			t.Errorf("%+v", ans)
		}
	})
}

// Output that arrives while a request is open is shown after the answer, so that the request stays visible.
func TestOutputHeldDuringRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, others, screen, types := newTestAsker(t, 120)
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = a.Ask(t.Context(), commandRequest("one", "touch one"))
		}()
		synctest.Wait()
		others.Line("another works")
		others.Text("and ")
		others.Text("speaks")
		others.EndLine()
		for i := range term.MaxBuffered {
			others.Line("line %d", i)
		}
		if seen := screen.String(); !strings.HasSuffix(seen, "deny and stop: ") {
			t.Errorf("the request is not the last output:\n%s", seen)
		}
		types("y\n")
		<-done
		_, after, _ := strings.Cut(screen.String(), "deny and stop: ")
		if !strings.HasPrefix(after, "another works\nand speaks\nline 0\n") {
			t.Errorf("after the answer:\n%.200s", after)
		}
		if !strings.Contains(after, "· 4 more lines are not shown; holdfast sessions show prints them") {
			t.Errorf("it does not say what was left out:\n%s", after[len(after)-200:])
		}
		others.Line("later")
		if !strings.HasSuffix(screen.String(), "\nlater\n") {
			t.Error("it still waits")
		}
	})
}

// The key line is never broken within a key or a word.
func TestKeysFitTheScreen(t *testing.T) {
	for width := 30; width <= 120; width += 10 {
		a, _, screen, _ := newTestAsker(t, width)
		a.saver = func(*approval.Request, *approval.Answer) (*savedrule.Result, error) { return nil, errors.New("no") }
		a.ShowKeys(a.keys(approval.Request{Scopes: []approval.Scope{{Rule: "Bash(touch)"}}})...)
		for l := range strings.Lines(screen.String()) {
			if n := len([]rune(strings.TrimRight(l, "\n"))); n > width {
				t.Errorf("%d columns are too few for %q", width, l)
			}
		}
	}
}

// Each of several questions is shown above its own keys.
func TestModelQuestionsOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _, screen, types := newTestAsker(t, 120)
		var input strings.Builder
		for i := range 3 {
			if i > 0 {
				input.WriteString(",")
			}
			fmt.Fprintf(&input, `{"question": "question %d?", "header": "h%d", "multiSelect": true, "options": [{"label": "red", "description": ""}, {"label": "blue", "description": ""}]}`, i+1, i+1)
		}
		q := approval.Request{ID: "q", Tool: forms.AskTool, Requests: []policy.Request{{Tool: forms.AskTool, Person: true, Input: []byte(`{"questions": [` + input.String() + `]}`)}}}
		done := make(chan approval.Answer, 1)
		go func() {
			ans, err := a.Ask(t.Context(), q)
			if err != nil {
				t.Error(err)
			}
			done <- ans
		}()
		for i, keys := range []string{"1\nc\n", "c\n", "2\nc\n"} {
			synctest.Wait()
			if n := strings.Count(screen.String(), "question "); n != i+1 {
				t.Errorf("%d questions are on the screen, %d are answered:\n%s", n, i, screen)
			}
			if types(keys); keys == "c\n" {
				synctest.Wait()
				types("1, 2 2\n") // a repeated number counts once
			}
		}
		synctest.Wait()
		types("y\n")
		ans := <-done
		if err := q.Check(ans); err != nil || ans.Decision != approval.Allow || !strings.Contains(string(ans.Input), `["red","blue"]`) {
			t.Errorf("%+v: %v", ans, err)
		}
	})
}
