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

// toolProxy represents a vendor agent's tool in the loop. It computes the requests for a use of the
// tool. Its Run allows the vendor agent to run the tool.
type toolProxy struct {
	g    *VendorAgent
	name string
}

// Spec describes the tool. Only the vendor agent uses the tool, so its description is not sent to
// any model.
func (t toolProxy) Spec() tool.Spec { return tool.Spec{Name: t.name, ReadOnly: parallelTools[t.name]} }

// Requests returns what a tool use would access, with the paths of the host.
func (t toolProxy) Requests(c *tool.Call) ([]policy.Request, error) {
	return t.g.opt.PathMap.requests(t.name, c.Input)
}

// RunsWithoutApproval returns the name of the agent if the agent runs a tool use without asking.
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

// Void returns a channel that is closed when the agent that requested a tool use has ended. Its
// pending approval request is then void, and why returns the reason.
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

// lost is the result of a tool use whose agent has ended.
const lost = "not run: the agent that requested it has ended; request it again if it is still needed"

// Run allows the vendor agent to run a tool use, and waits for the result.
func (t toolProxy) Run(ctx context.Context, c *tool.Call) (tool.Result, error) {
	x, u := t.g.find(c.ID)
	if u == nil {
		return tool.Failure(lost), nil
	}
	x.mu.Lock()
	u.begun = true
	x.mu.Unlock()
	allowed := false
	late := time.NewTimer(x.silence) // for a tool use that was announced, but neither requested nor run
	defer late.Stop()
	for {
		select {
		case <-late.C:
			x.mu.Lock()
			running := u.running
			x.mu.Unlock()
			if !running {
				x.kill(x.silenceError())
			}
		case q := <-u.asked:
			late.Stop()
			a := t.permit(c, u, q.p.Input)
			allowed = a.Allow
			x.mu.Lock()
			u.allowed = u.allowed || allowed
			x.mu.Unlock()
			q.answer <- a
		case q := <-u.nested: // a nested request means that the tool is running
			late.Stop()
			go func() { q.answer <- t.decideNested(c, q) }()
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

// unfinished describes a tool use whose agent ended before there was a result.
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

// permit answers the agent's permission request for a use that was allowed. The answer contains the
// arguments that were allowed, even if the arguments in the agent's request are different.
func (t toolProxy) permit(c *tool.Call, u *use, asked json.RawMessage) vendor.Answer {
	if why := t.g.opt.PathMap.hostPathProblem(t.name, c.Input); why != "" {
		return vendor.Answer{Message: why}
	}
	a := vendor.Answer{Allow: true}
	if !bytes.Equal(jsonscan.Compact(c.Input), jsonscan.Compact(u.input)) || !t.sameRequest(c.Input, asked) {
		a.Input = slices.Clone(c.Input)
	}
	return a
}

// sameRequest reports whether the agent's request matches the decided call in everything that a
// guard and an approver can see. Programs may add other arguments.
func (t toolProxy) sameRequest(allowed, asked json.RawMessage) bool {
	if len(asked) == 0 || bytes.Equal(jsonscan.Compact(allowed), jsonscan.Compact(asked)) {
		return true
	}
	a, errA := t.g.opt.PathMap.requests(t.name, allowed)
	b, errB := t.g.opt.PathMap.requests(t.name, asked)
	named := len(a) > 0 && a[0].Operation != "" && a[0].Operation != policy.OpMCP // the arguments of other tools are not interpreted
	return errA == nil && errB == nil && named && reflect.DeepEqual(a, b)
}

// decideNested decides about a call that is made within the running tool use. It treats the call as
// a request of that use.
func (t toolProxy) decideNested(c *tool.Call, q *request) vendor.Answer {
	if c.Ask == nil {
		return vendor.Answer{Message: "no one can approve this"}
	}
	reqs, err := t.g.opt.PathMap.requests(q.p.Tool, q.p.Input)
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
