package run

import (
	"context"
	"errors"
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

// typed is the input that the user types while the run works: each line is queued and sent to the
// running turn, in order. A nil typed does nothing.
//
//	keyboard ─► waiting ─send─► accepted (durable) ─► shown as a user line when the model gets it
type typed struct {
	p      *command.Program
	typing *term.Typing
	ctx    context.Context // ends with the run or an interrupt; nothing is sent after it
	wake   chan struct{}
	done   sync.WaitGroup

	sending sync.Mutex // held while a line is sent

	mu       sync.Mutex
	to       receiver // zero until the session is open
	open     bool
	waiting  []string
	accepted []string
}

// receiver takes input for a run, in this process or in the daemon.
type receiver struct {
	send    func(ctx context.Context, text string) error // returns after the text is durable
	pending func() bool                                  // reports whether the run can have input left to work on
}

// sendTimeout is how long a daemon that does not answer can hold up the end of the command.
const sendTimeout = 10 * time.Second

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

func (t *typed) enter(line string) {
	t.p.Err.Line("%s", t.p.Err.Dim("queued: "+term.Escape(line)))
	t.mu.Lock()
	t.waiting = append(t.waiting, line)
	t.mu.Unlock()
	t.poke()
}

func (t *typed) poke() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// work sends the lines that wait, until the run ends.
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

// flush sends the lines that wait. A line that cannot be sent keeps waiting, and so do the lines
// after it.
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
		t.waiting, t.accepted = t.waiting[1:], append(t.accepted, text) // the model can get it before send returns
		t.mu.Unlock()
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.ctx), sendTimeout) // an interrupt does not leave a line half sent
		err := t.to.send(ctx, text)
		cancel()
		if err == nil {
			continue
		}
		t.mu.Lock()
		if i := slices.Index(t.accepted, text); i >= 0 {
			t.accepted = slices.Delete(t.accepted, i, i+1)
			t.waiting = append([]string{text}, t.waiting...)
		}
		t.mu.Unlock()
		if !errors.Is(err, agent.ErrApprovalPending) {
			t.p.Warn("cannot send the queued text: %v", err)
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
		t.open = t.to.send != nil
		t.poke()
	case event.ApprovalResolved:
		t.poke()
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
			t.p.Err.Line("%s %s", t.p.Err.Bold(">"), term.Escape(text))
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
	t.sending.Lock() // no line is on its way when the agent is closed
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

// stop restores the terminal and says what happened to the input that the model has not got. The
// caller has ended ctx.
func (t *typed) stop() {
	if t == nil {
		return
	}
	unfinished := t.typing.Stop()
	t.done.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, text := range t.accepted {
		t.p.Err.Line("%s", t.p.Err.Dim("saved, but the model has not seen it: "+term.Escape(text)))
	}
	for _, text := range append(t.waiting, unfinished) {
		if strings.TrimSpace(text) != "" {
			t.p.Err.Line("%s %s", t.p.Err.Yellow("not sent:"), term.Escape(text))
		}
	}
}
