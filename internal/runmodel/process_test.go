package runmodel

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/sessionpolicy"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// process is a program that runs a session, until it leaves it, is killed, or another
// one takes the session over.
type process struct {
	w     *simulation
	r     *run
	name  string
	store *processStore
	agent *agent.Agent
	subs  *agent.Subagents
	back  *agent.Background
	ctx   context.Context
	stop  context.CancelFunc

	dead   atomic.Bool
	taken  bool // another process has the session
	once   sync.Once
	buried bool
	moving *program // of those in the background
}

// patience bounds what the test waits for: nothing here takes time.
const patience = 60 * time.Second

// boot starts a process for a run. mode is that of its first start.
func (w *simulation) boot(r *run, mode policy.Mode, takeover bool) (*process, error) {
	p := &process{w: w, r: r, name: w.name("process"), store: &processStore{Store: w.store}}
	p.store.p = p
	p.ctx, p.stop = context.WithTimeout(ctx, patience)
	var kinds []agent.Definition
	for _, k := range []string{"worker", "plans", "edits", "mutes"} {
		kinds = append(kinds, agent.Definition{Name: k, Description: "does " + k, Prompt: "child", Mode: kindModes[k]})
	}
	var err error
	if p.subs, err = agent.NewSubagents(&agent.SubagentOptions{Definitions: kinds}); err != nil {
		return nil, err
	}
	p.back = &agent.Background{OnNotification: p.woken}
	tools, err := p.tools()
	if err != nil {
		return nil, err
	}
	p.agent, err = agent.New(&scriptModel{p}, &agent.Options{
		Sessions: session.New(p.store, nil),
		Session: session.RestoreOptions{
			SessionID: r.id, Takeover: takeover,
			Opened: session.Opened{CWD: "/w", Project: "p"},
		},
		System: systemOwn, Tools: tools, Background: p.back, Subagents: p.subs,
		Permissions: agent.Permissions{
			Config: policy.Config{Mode: mode, Folders: []string{"/w"}},
			Ask:    p.ask,
		},
		Limits:  agent.Limits{MaxBudgetUSD: float64(r.budget)},
		Model:   agent.ModelOptions{Retry: agent.Retry{Max: -1}},
		Compact: agent.Compact{Items: r.compact, Disabled: r.compact == 0},
	})
	if err != nil {
		return nil, err
	}
	w.processes = append(w.processes, p)
	_, err = p.agent.Start(p.ctx)
	return p, err
}

// kill is kill -9: nothing more is written, and what runs ends without a trace.
func (p *process) kill() {
	p.once.Do(func() {
		p.dead.Store(true)
		p.stop()
		p.w.moved.Broadcast()
	})
}

// bury waits until nothing of a process that was killed or displaced runs any more.
func (p *process) bury() {
	if p.buried {
		return
	}
	p.buried = true
	_ = p.agent.Suspend() // its store is gone
	p.stop()
}

// woken is told that a call in the background has ended.
func (p *process) woken() {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	if p.moving != nil {
		p.moving.ended = true
	}
	p.w.moved.Broadcast()
}

// gone reports whether nothing that the process does counts any more. w.mu is held.
func (p *process) gone() bool { return p.dead.Load() }

// tools are the fakes of this process, and that for sub-agents.
func (p *process) tools() (*tool.Registry, error) {
	list := []tool.Tool{p.subs.Tool()}
	for _, name := range []string{toolLook, toolEdit, toolPost} {
		t, err := tool.New(tool.Spec{Name: name, Description: name, ReadOnly: name == toolLook}, p.work(name), func(_ *tool.Call, in input) ([]policy.Request, error) {
			r := policy.Request{Resource: in.Path, ReadOnly: name == toolLook}
			switch name {
			case toolLook:
				r.Operation = policy.OpRead
			case toolEdit:
				r.Operation = policy.OpWrite
			}
			return []policy.Request{r}, nil
		})
		if err != nil {
			return nil, err
		}
		list = append(list, t)
	}
	return tool.NewRegistry(list...)
}

// input is what the fakes take.
type input struct {
	Call string `json:"call"`
	Path string `json:"path"`
	Text string `json:"text"`
}

// work is what a fake does: it notes that it ran, and looks whether it may.
func (p *process) work(name string) func(context.Context, *tool.Call, input) (tool.Result, error) {
	return func(_ context.Context, c *tool.Call, in input) (tool.Result, error) {
		w := p.w
		w.mu.Lock()
		defer w.mu.Unlock()
		if p.gone() {
			return tool.Failure("killed"), nil
		}
		call := w.calls[in.Call]
		w.note("  %s runs %s(%s) for %s of %s", p.name, name, in.Path, call.program.id, p.r.id)
		switch {
		case p.taken:
			w.violate("%s ran %s after its session was taken over", p.name, in.Call)
		case call.ran:
			w.violate("the call %s ran twice", in.Call)
		case name != call.tool || in.Path != call.resource || in.Text != call.in:
			w.violate("the call %s ran with another input: %s %+v", in.Call, name, in)
		}
		st := p.r.state()
		switch e := st.decide(call.program.held(), call.tool, call.resource); {
		case e == policy.Deny:
			w.violate("%s(%s) of %s ran in mode %s %v, and the policy of the run denies it: %+v", name, in.Path, call.program.id, st.mode, call.program.held(), st)
		case e == policy.Ask && !call.answered.Allows():
			w.violate("%s(%s) of %s ran in mode %s %v, and nobody has allowed it: %+v", name, in.Path, call.program.id, st.mode, call.program.held(), st)
		}
		if w.place.quick() {
			w.started(c)
		}
		call.ran, call.doubt = true, nil
		call.program.unconfirmed = 0
		w.say(p.r, call.out)
		if call.killed {
			w.note("  %s is killed while %s runs", p.name, in.Call)
			p.kill()
		}
		return tool.Text("done " + call.out), nil
	}
}

// started checks that the start of a call is on disk. mu is held.
func (w *simulation) started(c *tool.Call) {
	for r, err := range w.store.Read(ctx, c.Session, session.Range{Reverse: true}) {
		if err != nil {
			w.violate("reading %s: %v", c.Session, err)
			return
		}
		var s record.ToolStarted
		if r.Kind == record.KindToolStarted && json.Unmarshal(r.Payload, &s) == nil && s.Use == c.ID {
			return
		}
	}
	w.violate("the call %s runs, and its start is not on disk", c.ID)
}

// ask is the person at the program.
func (p *process) ask(ctx context.Context, q approval.Request) (approval.Answer, error) {
	w := p.w
	var in input
	if len(q.Requests) > 0 {
		_ = json.Unmarshal(q.Requests[0].Input, &in)
	}
	w.mu.Lock()
	call := w.calls[in.Call]
	if p.gone() || call == nil {
		w.mu.Unlock()
		return approval.Answer{}, errKilled
	}
	w.note("  %s is asked about %s(%s) of %s: %s", p.name, call.tool, call.resource, call.program.id, call.answer)
	if e := p.r.state().decide(call.program.held(), call.tool, call.resource); e != policy.Ask && !call.asked {
		w.violate("%s(%s) of %s is asked about, and the policy of the run says %s: %+v", call.tool, call.resource, call.program.id, e, p.r.state())
	}
	call.program.unconfirmed = 0
	first := !call.asked
	call.asked, call.session, call.question, call.planned = true, q.Session, q.ID, q.Mode == policy.ModePlan
	w.mu.Unlock()
	if first {
		p.happens(&call.interleaving)
	}
	if p.dead.Load() {
		w.mu.Lock()
		p.r.waiting = call
		w.mu.Unlock()
		return approval.Answer{}, errKilled
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case call.leave && !call.left:
		call.left, p.r.waiting = true, call
		w.note("  the question is left open")
		return approval.Answer{}, approval.ErrSuspend
	case call.outside:
		w.mu.Unlock()
		err := w.elsewhere(p.r, call)
		w.mu.Lock()
		if err != nil {
			w.violate("an answer from elsewhere to %s: %v", call.id, err)
		}
		w.mu.Unlock()
		<-ctx.Done()
		w.mu.Lock()
		return approval.Answer{}, context.Cause(ctx)
	}
	if g, refused := w.settle(p.r, call); g != nil && !refused {
		call.doubt = &change{grant: g}
		p.r.push(*call.doubt)
	}
	return approval.Answer{Decision: call.answer, Actor: "ann"}, nil
}

// settle lets the answer to a question count, and returns what it is to leave. It is refused,
// and leaves nothing, where the policy denies the call by now. mu is held.
func (w *simulation) settle(r *run, c *call) (left *grant, refused bool) {
	c.answered = c.answer
	switch {
	case !c.answer.Session():
		return nil, false
	case c.answer.Allows():
		return &grant{policy.Allow, c.tool, c.resource}, r.state().decide(c.program.held(), c.tool, c.resource) == policy.Deny
	}
	return &grant{policy.Deny, c.tool, c.resource}, false
}

// elsewhere has another program answer a question.
func (w *simulation) elsewhere(r *run, c *call) error {
	w.mu.Lock()
	w.note("  another program answers %s: %s", c.id, c.answer)
	c.recorded = true
	switch g, refused := w.settle(r, c); { // it is on record with the answer
	case refused: // and revoked with what the answer comes to, unless a kill is faster
		r.refused = append(r.refused, refusal{*g, c.program.kind == ""})
	case g != nil:
		r.push(change{grant: g})
	}
	w.mu.Unlock()
	var err error
	for _, id := range []string{c.session, r.id} {
		_, err = approval.Resolve(ctx, w.outside, id, approval.Answer{RequestID: c.question, Decision: c.answer, Actor: "bob"})
		if !errors.Is(err, approval.ErrNoRequest) {
			return err
		}
	}
	return err
}

// happens does what is to happen in between.
func (p *process) happens(m *interleaving) {
	if m.what == "" {
		return
	}
	w, r := p.w, p.r
	w.mu.Lock()
	if p.gone() || p.taken {
		w.mu.Unlock()
		return
	}
	w.note("  meanwhile: %s %s %+v by another program: %t", m.what, m.mode, m.patch, m.outside)
	w.mu.Unlock()
	if m.what == "kill" {
		p.kill()
		return
	}
	w.change(r, p, m)
}

// change changes the policy of a run, by its process or from elsewhere.
func (w *simulation) change(r *run, p *process, m *interleaving) {
	c := policy.Change{By: "ann"}
	ch := change{mode: m.mode}
	switch m.what {
	case "mode":
		c.Mode = m.mode
	case "patch":
		c.Patch, ch.patch = &policy.Patch{Mode: "write", Allow: []string{m.patch.path}}, &m.patch
		if m.patch.effect == policy.Deny {
			c.Patch.Allow, c.Patch.Deny = nil, c.Patch.Allow
		}
	case "revoke":
		g, id, err := w.findGrant(r, m.pick)
		if err != nil {
			w.mu.Lock()
			w.violate("%v", err)
			w.mu.Unlock()
			return
		}
		if g == nil {
			return
		}
		c.Revoke, ch.revoke = id, g
	}
	var err error
	if m.outside || p == nil {
		_, err = sessionpolicy.Change(ctx, w.outside, r.id, func(*policy.Guards) (policy.Change, error) { return c, nil })
	} else if m.what == "mode" {
		err = p.agent.SetMode(p.ctx, c.Mode, "ann")
	} else {
		_, err = p.agent.Change(p.ctx, c)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case err == nil:
		r.set(ch)
	case p != nil && p.dead.Load() && !m.outside:
		r.doubt = append(r.doubt, ch)
	default:
		w.violate("changing the policy (%s): %v", m.what, err)
	}
}

// findGrant chooses one of the grants of a run, and finds it as a person would: in the
// list of the run's session.
func (w *simulation) findGrant(r *run, pick int) (*grant, string, error) {
	w.mu.Lock()
	grants := r.state().grants
	w.mu.Unlock()
	if len(grants) == 0 {
		return nil, "", nil
	}
	g := grants[pick%len(grants)]
	m, err := w.outside.Get(ctx, r.id)
	if err != nil {
		return nil, "", err
	}
	all, err := sessionpolicy.Guards(ctx, w.outside, m)
	if err != nil {
		return nil, "", err
	}
	for _, have := range all.Grants() {
		if have.Effect == g.effect && have.Tool == g.tool && have.Resource == g.resource {
			return &g, have.ID, nil
		}
	}
	return nil, "", fmt.Errorf("the %s of %s(%s) is in force and not listed under run %s: nobody can revoke it", g.effect, g.tool, g.resource, r.id)
}

// turn has the run's own agent go on: with a prompt, or with what it has left open.
func (p *process) turn(input ...transcript.Part) error {
	var last error
	for e, err := range p.agent.Run(p.ctx, input...) {
		if err != nil {
			last = err
		}
		if res, ok := e.(event.Result); ok {
			p.w.mu.Lock()
			p.w.note("  the turn of %s ends: %s", p.r.id, res.Reason)
			p.w.mu.Unlock()
			if res.Err != nil && res.Reason == event.ReasonFailed && !strings.Contains(res.Err.Error(), cutOff) && !p.dead.Load() {
				last = res.Err
			}
		}
	}
	return last
}
