package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/transcript"
)

// typed is the input that the user types while the run works: each text is queued and sent to the
// running turn, in order. A nil typed does nothing.
//
//	keyboard ─► waiting ─send─► accepted (durable) ─► shown as a user line when the model gets it
//	                └─ blocked by a hook, or the run has ended: returned to the user
type typed struct {
	p      *command.Program
	typing *term.Typing
	ctx    context.Context // ends with the run or an interrupt; nothing is sent after it
	wake   chan struct{}
	done   sync.WaitGroup

	sending sync.Mutex // held while a text is sent

	mu       sync.Mutex
	to       receiver // zero until the session is open
	session  string
	open     bool
	waiting  []string
	accepted []string // with masked secrets, as in the log
	blocked  []string
}

// receiver takes input for a run, in this process or in the daemon.
type receiver struct {
	send    func(ctx context.Context, text string) error // returns after the text is durable
	pending func() bool                                  // reports whether the run can have input left to work on
	masked  func(text string) string                     // returns the text as the log has it
}

// sendTimeout is how long a daemon that does not answer can hold up the end of the command.
const sendTimeout = 10 * time.Second

// maxHint is the maximum length of a text in a command that sends it.
const maxHint = 200

// listen starts to read the keyboard if the run is shown as text in a terminal. Esc calls cancel.
func (c *Cmd) listen(ctx context.Context, p *command.Program, cancel context.CancelCauseFunc) *typed {
	if c.OutputFormat != "text" || c.Quiet {
		return nil
	}
	t := &typed{p: p, ctx: ctx, wake: make(chan struct{}, 1)}
	t.typing = p.Terminal.Type(t.enter, func() {
		p.Err.Interrupting()
		cancel(command.SignalError{Signal: syscall.SIGINT, By: outcome.Interrupted})
	})
	if t.typing == nil {
		return nil
	}
	t.done.Go(t.work)
	return t
}

func (t *typed) enter(text string) {
	if t.ctx.Err() == nil {
		t.p.Err.Line("%s", t.p.Err.Dim("queued: "+brief(text)))
	}
	t.mu.Lock()
	t.waiting = append(t.waiting, text)
	t.mu.Unlock()
	t.poke()
}

// brief returns the first line of a text, and how many more there are.
func brief(text string) string {
	first, rest, more := strings.Cut(text, "\n")
	if more {
		first += fmt.Sprintf(" (and %s)", term.Count(strings.Count(rest, "\n")+1, "more line"))
	}
	return term.Escape(first)
}

func (t *typed) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// work sends the texts that wait, until the run ends.
func (t *typed) work() {
	for {
		select {
		case <-t.ctx.Done():
			return
		case <-t.wake:
			t.flush()
		}
	}
}

// flush sends the texts that wait. A text that a hook blocks is not sent again. Any other text that
// cannot be sent keeps waiting, and so do the texts after it.
func (t *typed) flush() {
	t.sending.Lock()
	defer t.sending.Unlock()
	for {
		t.mu.Lock()
		if !t.open || len(t.waiting) == 0 || t.ctx.Err() != nil {
			t.mu.Unlock()
			return
		}
		text := t.waiting[0]
		recorded := t.to.masked(text)
		t.waiting, t.accepted = t.waiting[1:], append(t.accepted, recorded) // the model can get it before send returns
		t.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), sendTimeout) // an interrupt does not leave a text half sent
		err := t.to.send(ctx, text)
		cancel()
		if err == nil {
			continue
		}
		_, isBlocked := errors.AsType[*event.Error](err)
		t.mu.Lock()
		if i := slices.Index(t.accepted, recorded); i >= 0 {
			t.accepted = slices.Delete(t.accepted, i, i+1)
			if isBlocked {
				t.blocked = append(t.blocked, text)
			} else {
				t.waiting = append([]string{text}, t.waiting...)
			}
		}
		t.mu.Unlock()
		switch {
		case isBlocked:
			t.p.Warn("the queued text %q was not sent: %v", brief(text), err)
			continue
		case !errors.Is(err, agent.ErrApprovalPending):
			t.p.Warn("cannot send the queued text now: %v", err)
		}
		return
	}
}

// receive says who takes the input once the session is open.
func (t *typed) receive(to receiver) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.to = to
}

// observe follows the events of the run. It returns false for an event that would only repeat what
// the user has typed.
func (t *typed) observe(e event.Event) bool {
	if t == nil {
		return true
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e := e.(type) {
	case event.SessionOpened:
		t.session = e.ID
		t.open = t.to.send != nil
		t.poke()
	case event.ApprovalResolved, event.SubagentEvent: // an approval may have kept the texts waiting
		if len(t.waiting) > 0 {
			t.poke()
		}
	case event.Notice:
		return !slices.ContainsFunc(t.accepted, func(text string) bool {
			return strings.HasPrefix(e.Text, "message from ") && strings.HasSuffix(e.Text, ": "+text)
		})
	case event.ItemAppended:
		if e.Item.Role() != transcript.RoleUser || len(t.accepted) == 0 {
			break
		}
		got := e.Item.Text()
		t.accepted = slices.DeleteFunc(t.accepted, func(text string) bool {
			i := strings.Index(got, text)
			if i < 0 {
				return false
			}
			got = got[i+len(text):]
			t.p.Err.Line("%s %s", t.p.Err.Bold(">"), brief(text))
			return true
		})
	}
	return true
}

// more reports whether the run continues after a result, because there is input that the model has
// not got.
func (t *typed) more(r *event.Result) bool {
	if t == nil {
		return false
	}
	if r.Reason == event.ReasonCompleted {
		t.flush()
	}
	t.sending.Lock() // no text is on its way when the agent is closed
	defer t.sending.Unlock()
	t.mu.Lock()
	unseen, to := len(t.accepted) > 0, t.to
	t.mu.Unlock()
	if r.Reason == event.ReasonCompleted && t.ctx.Err() == nil && unseen && to.pending() {
		return true
	}
	t.mu.Lock()
	t.open = false
	t.mu.Unlock()
	return false
}

// stop restores the terminal and returns to the user the input that the model has not got. The
// caller has ended ctx. args are the flags of the command that resumes the session.
func (t *typed) stop(args string) {
	if t == nil {
		return
	}
	unfinished := t.typing.Stop()
	t.done.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, text := range t.accepted {
		t.p.Err.Line("%s %s", t.p.Err.Yellow("saved, but the model has not seen it:"), brief(text))
	}
	returned := slices.Concat(t.blocked, t.waiting)
	if unfinished != "" {
		returned = append(returned, unfinished)
	}
	for _, text := range returned {
		t.p.Err.Line("%s %s", t.p.Err.Yellow("not sent:"), term.Escape(text))
	}
	if len(returned) > 0 && t.session != "" {
		text := `"…"`
		if len(returned) == 1 && len(returned[0]) <= maxHint && !strings.Contains(returned[0], "\n") {
			text = term.Quote(returned[0])
		}
		t.p.Err.Hint("send it: holdfast run " + args + "--resume " + t.session + " " + text)
	}
}
