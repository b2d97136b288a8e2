package vendoragent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// toolProxy is a guest's tool to the loop: what it would touch is known here, and running
// it is telling the guest that it may.
type toolProxy struct {
	g    *VendorAgent
	name string
}

// Spec describes it. The guest knows its own tools, so no model is told of it.
func (t toolProxy) Spec() tool.Spec { return tool.Spec{Name: t.name, ReadOnly: sideBySide[t.name]} }

// Requests says what a use would touch, in the host's terms.
func (t toolProxy) Requests(c *tool.Call) ([]policy.Request, error) {
	return t.g.opt.Places.requests(t.name, c.Input)
}

// RunsWithoutApproval names the guest when it runs a use without asking.
func (t toolProxy) RunsWithoutApproval(c *tool.Call) string {
	x, u := t.g.find(c.ID)
	if u == nil {
		return ""
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !u.running {
		return ""
	}
	return t.g.opt.Vendor.Name()
}

// Void tells of the end of the agent that asked for a use: what it waits for is void.
func (t toolProxy) Void(c *tool.Call) (lapsed <-chan struct{}, why func() string) {
	x, u := t.g.find(c.ID)
	if u == nil {
		return nil, nil
	}
	return x.over, func() string {
		if why := x.failure(); why != "" {
			return why
		}
		return "the agent ended its turn without a result"
	}
}

// lost is the result of a use whose guest is gone.
const lost = "not run: the agent that asked for it has ended since; ask for it again where it still is needed"

// Run lets the guest run a use and waits for what came of it.
func (t toolProxy) Run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	x, u := t.g.find(c.ID)
	if u == nil {
		return tool.Failure(lost), nil
	}
	x.mu.Lock()
	u.begun = true
	x.mu.Unlock()
	allowed := false
	late := time.NewTimer(x.silence) // for what it has announced and then neither asks about nor runs
	defer late.Stop()
	for {
		select {
		case <-late.C:
			x.mu.Lock()
			running := u.running
			x.mu.Unlock()
			if !running {
				x.kill(x.isSilent())
			}
		case q := <-u.asked:
			late.Stop()
			a := t.permit(c, u, q.p.Input)
			allowed = a.Allow
			x.mu.Lock()
			u.allowed = u.allowed || allowed
			x.mu.Unlock()
			q.answer <- a
		case q := <-u.nested: // so it runs
			late.Stop()
			go func() { q.answer <- t.judgeNested(c, q) }()
		case <-u.done:
			return x.resultOf(u), nil
		case <-x.over:
			select {
			case <-u.done:
				return x.resultOf(u), nil
			default:
			}
			return tool.Failure(unfinished(x, u, allowed)), nil
		case <-ctx.Done():
			x.kill(errInterrupted)
			return tool.Result{}, ctx.Err()
		}
	}
}

var errInterrupted = errors.New("interrupted")

// unfinished words what is known of a use whose guest ended before its result.
func unfinished(x *vendorTurn, u *use, allowed bool) string {
	why := x.failure()
	if why == "" {
		why = "the agent ended its turn without a result"
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if !allowed && !u.running {
		return "not run: " + why
	}
	return "interrupted, the outcome is unknown: " + why
}

// permit is the answer to the guest's question about a use that was decided to run. It
// runs what was judged, whatever it asks about now.
func (t toolProxy) permit(c *tool.Call, u *use, asked json.RawMessage) vendor.Answer {
	if why := t.g.opt.Places.unseen(t.name, c.Input); why != "" {
		return vendor.Answer{Message: why}
	}
	a := vendor.Answer{Allow: true}
	if !bytes.Equal(jsonscan.Compact(c.Input), jsonscan.Compact(u.input)) || !t.sameRequest(c.Input, asked) {
		a.Input = slices.Clone(c.Input)
	}
	return a
}

// sameRequest reports whether what the guest asks about is what was judged, for all that a guard
// and a person know of it: programs add what is their own to the arguments.
func (t toolProxy) sameRequest(judged, asked json.RawMessage) bool {
	if len(asked) == 0 || bytes.Equal(jsonscan.Compact(judged), jsonscan.Compact(asked)) {
		return true
	}
	a, errA := t.g.opt.Places.requests(t.name, judged)
	b, errB := t.g.opt.Places.requests(t.name, asked)
	named := len(a) > 0 && a[0].Operation != "" && a[0].Operation != policy.OpMCP // the others' arguments say nothing that is known
	return errA == nil && errB == nil && named && reflect.DeepEqual(a, b)
}

// judgeNested has what runs below a use judged, as something that the running use wants.
func (t toolProxy) judgeNested(c *tool.Call, q *request) vendor.Answer {
	if c.Ask == nil {
		return vendor.Answer{Message: "nobody can be asked"}
	}
	reqs, err := t.g.opt.Places.requests(q.p.Tool, q.p.Input)
	if err != nil {
		return vendor.Answer{Message: err.Error()}
	}
	for _, r := range reqs {
		r.Tool, r.Input = q.p.Tool, q.p.Input
		if err := c.Ask(q.ctx, r); err != nil {
			return vendor.Answer{Message: err.Error()}
		}
	}
	return vendor.Answer{Allow: true}
}

func (x *vendorTurn) resultOf(u *use) tool.Result {
	x.mu.Lock()
	defer x.mu.Unlock()
	content := slices.Clone(u.result.Content)
	if len(content) == 0 {
		content = []transcript.Part{transcript.Text{Text: "(no output)"}}
	}
	return tool.Result{Content: content, IsError: u.result.IsError}
}
