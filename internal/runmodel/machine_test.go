package runmodel

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// play does random things to a world, and checks it after each.
func (w *simulation) play(t *rapid.T) {
	defer w.end()
	w.begin(t)
	for range rapid.IntRange(1, 10).Draw(t, "actions") {
		w.act(t)
		w.broken()
		w.check(false)
		w.broken()
	}
	w.note("the end")
	for _, r := range w.alive() {
		w.leave(r, true)
	}
	w.check(true)
	w.broken()
}

// act does one thing that is possible.
func (w *simulation) act(t *rapid.T) {
	actions := map[string]func(*rapid.T){}
	var names []string
	add := func(n int, name string, f func(*rapid.T)) {
		actions[name] = f
		for range n {
			names = append(names, name)
		}
	}
	alive := w.alive()
	sleeping := slices.DeleteFunc(slices.Clone(w.runs), func(r *run) bool { return r.process != nil })
	if len(w.runs) < 3 {
		add(1, "begin", w.begin)
		add(1, "fork", func(t *rapid.T) { w.forkRun(t, one(t, "source", w.runs...)) })
	}
	if len(alive) > 0 {
		pick := func(t *rapid.T) *run { return one(t, "run", alive...) }
		add(6, "prompt", func(t *rapid.T) { w.prompt(t, pick(t)) })
		add(1, "leave", func(t *rapid.T) { w.leave(pick(t), rapid.Bool().Draw(t, "close")) })
		add(1, "kill", func(t *rapid.T) { w.killed(pick(t)) })
		add(1, "take over", func(t *rapid.T) { w.takeOver(pick(t)) })
		add(1, "compact", func(t *rapid.T) { w.compact(pick(t)) })
		add(1, "tell a teammate", func(t *rapid.T) { w.teammate(t, pick(t)) })
	}
	if len(sleeping) > 0 {
		add(3, "restart", func(t *rapid.T) { w.restart(t, one(t, "sleeping", sleeping...)) })
	}
	if moving := w.behind(); len(moving) > 0 {
		add(4, "move", func(t *rapid.T) { w.move(one(t, "program", moving...)) })
	}
	add(2, "change", func(t *rapid.T) {
		r := one(t, "run", w.runs...)
		m := w.drawMeanwhile(t, false)
		if m.what != "" && m.what != "kill" {
			w.note("change of %s: %+v", r.id, m)
			w.change(r, r.process, &m)
		}
	})
	if len(w.spoken) > 0 {
		add(1, "redact", w.redact)
		add(1, "rename", func(t *rapid.T) { w.rename(one(t, "run", w.runs...)) })
	}
	actions[one(t, "action", names...)](t)
}

// begin starts a run.
func (w *simulation) begin(t *rapid.T) {
	mode := one(t, "first mode", someModes...)
	r := &run{id: w.prefix + w.name("r"), states: []policyState{{mode: mode}}, compact: one(t, "compact", 0, 0, 8)}
	r.startIn(mode)
	r.budget = drawBudget(t)
	w.note("begin %s in mode %s with %d dollars", r.id, mode, r.budget)
	w.runs = append(w.runs, r)
	p, err := w.boot(r, mode, false)
	if err != nil {
		w.fatal("starting %s: %v", r.id, err)
	}
	r.process = p
}

// drawBudget draws what a run may cost, 0 is no bound.
func drawBudget(t *rapid.T) int {
	if chance(t, 3, "budget") {
		return rapid.IntRange(1, 12).Draw(t, "dollars")
	}
	return 0
}

// prompt has a run's own agent work on a prompt.
func (w *simulation) prompt(t *rapid.T, r *run) {
	at := w.drawProgram(t, r, "", false)
	p := r.process
	if chance(t, 6, "armed") {
		p.store.armed, p.store.applied = rapid.IntRange(1, 20).Draw(t, "appends"), rapid.Bool().Draw(t, "applied")
	}
	w.goOn(r)
	if r.process == nil || r.waiting != nil {
		return
	}
	w.note("prompt %s to %s", at.id, r.id)
	w.mu.Lock()
	w.say(r, at.prompt)
	w.mu.Unlock()
	w.afterTurn(r, p.turn(transcript.Text{Text: "program " + at.id + " " + at.prompt}))
}

// goOn has a run's own agent go on with a question that was left.
func (w *simulation) goOn(r *run) {
	if r.waiting == nil {
		return
	}
	w.note("%s goes on with %s", r.id, r.waiting.id)
	w.applyAnswer(r, r.waiting)
	r.waiting = nil
	err := r.process.turn()
	if errors.Is(err, agent.ErrNoInput) { // it was a question of a sub-agent, which is gone
		err = nil
	}
	w.afterTurn(r, err)
}

// applyAnswer judges an answer for the session that another program gave to a question that
// was left, by the policy in force when the run goes on with it. The grant came with the answer,
// and does not count for the call itself.
func (w *simulation) applyAnswer(r *run, c *call) {
	g := grant{policy.Allow, c.tool, c.resource}
	if !c.recorded || !c.answered.Allows() || !c.answered.Session() || !slices.Contains(r.state().grants, g) {
		return
	}
	without := change{revoke: &g}
	if r.state().with(without).decide(c.program.held(), c.tool, c.resource) != policy.Deny {
		return
	}
	w.note("  what was answered to %s is denied by now", c.id)
	r.refused = append(r.refused, refusal{g, true})
	r.push(without)
}

// afterTurn judges how a turn has ended.
func (w *simulation) afterTurn(r *run, err error) {
	p := r.process
	switch {
	case p.dead.Load():
		w.died(r)
		return
	case errors.Is(err, approval.ErrSuspend):
		if r.waiting == nil {
			w.fatal("a turn of %s was left, and nobody has left it", r.id)
		}
		return
	case err != nil:
		w.fatal("a turn of %s: %v", r.id, err)
	}
}

// died notes what a kill leaves in doubt.
func (w *simulation) died(r *run) {
	p := r.process
	p.bury()
	p.store.expire()
	r.process = nil
	w.mu.Lock()
	defer w.mu.Unlock()
	w.note("%s is dead", p.name)
	unconfirmed := r.unconfirmed
	for _, at := range w.programs {
		if at.at == p {
			unconfirmed += at.unconfirmed
			at.ended, at.cut, at.unconfirmed = true, true, 0
		}
	}
	w.lose(r, unconfirmed)
	for _, c := range w.calls {
		if c.doubt != nil && c.program.run == r {
			r.doubt = append(r.doubt, *c.doubt)
			c.doubt = nil
		}
	}
}

// leave ends a process in order.
func (w *simulation) leave(r *run, closes bool) {
	w.note("leave %s, closed: %t", r.id, closes)
	p := r.process
	end := p.agent.Suspend
	if closes && r.waiting == nil {
		end = p.agent.Close
	}
	if err := end(); err != nil && !p.dead.Load() {
		w.fatal("closing %s: %v", r.id, err)
	}
	p.buried = true
	p.stop()
	if p.dead.Load() {
		w.died(r)
		return
	}
	r.process = nil
}

func (w *simulation) killed(r *run) {
	w.note("kill %s", r.id)
	r.process.kill()
	w.died(r)
}

// restart goes on with a run that nobody runs.
func (w *simulation) restart(t *rapid.T, r *run) {
	w.note("restart %s", r.id)
	if r.waiting != nil && chance(t, 2, "answered meanwhile") && r.waiting.program.kind == "" {
		if err := w.elsewhere(r, r.waiting); err != nil && !errors.Is(err, approval.ErrNoRequest) {
			w.fatal("answering a question that was left: %v", err)
		}
	}
	var mode policy.Mode
	if chance(t, 4, "asked for a mode") {
		mode = one(t, "mode", someModes...)
	}
	w.resume(r, mode)
	w.goOn(r)
}

// resume starts a process for a run again, and finds out what of the changes in doubt is
// on record.
func (w *simulation) resume(r *run, mode policy.Mode) {
	w.clearDoubt(r)
	m, err := w.outside.Get(ctx, r.id)
	if err != nil {
		w.fatal("%s: %v", r.id, err)
	}
	before, err := w.outside.StateAt(ctx, r.id, m.Head)
	if err != nil {
		w.fatal("%s: %v", r.id, err)
	}
	p, err := w.boot(r, mode, r.process != nil)
	if err != nil {
		w.fatal("going on with %s: %v", r.id, err)
	}
	r.process = p
	for _, q := range p.agent.Snapshot().Approvals { // it was asked, and the kill came first
		var in input
		if json.Unmarshal(q.Requests[0].Input, &in) == nil && r.waiting == nil {
			r.waiting = w.calls[in.Call]
			r.waiting.asked, r.waiting.planned = true, q.Mode == policy.ModePlan
		}
	}
	w.resumedMode(r, mode, before.OpenTurn != "")
}

// resumedMode is the mode in which a session goes on: the one that is asked for, or the one
// that was set last. Plan mode ends with the turn, bypassPermissions with the process.
func (w *simulation) resumedMode(r *run, wanted policy.Mode, cutOff bool) {
	w.clearDoubt(r)
	m := r.recorded
	if m == "" || m == policy.ModePlan && !cutOff || m == policy.ModeBypass {
		m = policy.ModeDefault
	}
	have := r.process.agent.Mode()
	if r.waiting != nil && r.waiting.planned && have == policy.ModePlan { // its question is not settled
		m = policy.ModePlan
	}
	if wanted != "" {
		m = wanted
		r.startIn(m)
	}
	if have != m {
		w.fatal("%s goes on in mode %s, and %q was recorded", r.id, have, r.recorded)
	}
	r.push(change{mode: m})
	r.applyRefused()
}

// startIn notes that a mode was asked for at a start: it is on record where it is another.
func (r *run) startIn(m policy.Mode) {
	if r.recorded != "" || m != policy.ModeDefault && m != policy.ModeBypass {
		r.recorded = m
	}
}

// takeOver starts another process for a run while one runs it.
func (w *simulation) takeOver(r *run) {
	w.note("take %s over", r.id)
	old := r.process
	w.mu.Lock()
	old.taken = true
	w.mu.Unlock()
	waiting := r.waiting
	w.resume(r, "")
	r.waiting = waiting
	p := r.process
	r.process = old
	for _, at := range w.behind() {
		if at.at == old {
			w.move(at) // in vain
		}
	}
	if r.process != nil { // else it has ended by itself
		old.kill()
		w.died(r)
	}
	r.process = p
	if r.waiting != nil {
		w.goOn(r)
	}
}

// compact has a run's transcript summarised.
func (w *simulation) compact(r *run) {
	if r.waiting != nil {
		return
	}
	w.note("compact %s", r.id)
	p := r.process
	_, _, err := p.agent.Compact(p.ctx, "")
	switch {
	case p.dead.Load():
		w.died(r)
	case err != nil:
		w.note("compaction: %v", err)
	}
}

// teammate gives a program to a sub-agent that lives on.
func (w *simulation) teammate(t *rapid.T, r *run) {
	p := r.process
	at := w.drawChild(t, r, false)
	idle := make(chan struct{}, 8)
	w.note("a teammate of %s: %s in mode %q", r.id, at.id, at.mode)
	m, err := p.subs.StartTeammate(p.ctx, agent.TeammateOptions{
		Name: at.id, Kind: agent.Definition{Name: at.kind, Description: "a teammate", Prompt: systemChild, Mode: kindModes[at.kind]}, Title: at.title, Mode: at.mode,
		OnIdle: func(_ context.Context, _ *agent.Teammate, last *event.Result) string {
			if last != nil {
				idle <- struct{}{}
			}
			return ""
		},
		OnError: func(*agent.Teammate, error) { idle <- struct{}{} },
	})
	w.mu.Lock()
	w.say(r, at.title, at.prompt)
	w.mu.Unlock()
	if err == nil {
		err = m.Agent().Submit(p.ctx, transcript.Text{Text: "program " + at.id + " " + at.prompt})
	}
	if err != nil && !p.dead.Load() {
		w.fatal("a teammate of %s: %v", r.id, err)
	}
	if err == nil {
		select {
		case <-idle:
		case <-m.Done():
		case <-p.ctx.Done():
		}
	}
	if p.dead.Load() {
		w.died(r)
	}
}

// behind are the programs in the background that can move.
func (w *simulation) behind() []*program {
	var list []*program
	for _, r := range w.alive() {
		for _, at := range w.programs {
			if at.at == r.process && at.background && at.arrived && !at.ended {
				list = append(list, at)
			}
		}
	}
	slices.SortFunc(list, func(a, b *program) int {
		return len(a.id)*1000 - len(b.id)*1000 + slices.Compare([]byte(a.id), []byte(b.id))
	})
	return list
}

// move lets an agent in the background do one step.
func (w *simulation) move(at *program) {
	p := at.at
	w.mu.Lock()
	w.note("move %s of %s", at.id, at.run.id)
	p.moving, at.arrived = at, false
	free := at.free
	at.free = make(chan struct{})
	close(free)
	w.wait("an agent in the background has moved", func() bool { return at.arrived || at.ended || p.gone() })
	w.mu.Unlock()
	if p.dead.Load() && !p.buried {
		w.died(at.run)
	}
}

// forkRun starts a run that shares what another one has done so far.
func (w *simulation) forkRun(t *rapid.T, src *run) {
	mode := one(t, "first mode", someModes...)
	f := &run{id: w.prefix + w.name("f"), states: []policyState{{mode: mode}}, compact: one(t, "compact", 0, 0, 8)}
	f.startIn(mode)
	f.budget = drawBudget(t)
	w.note("fork %s of %s in mode %s", f.id, src.id, mode)
	if _, err := w.outside.Fork(ctx, src.id, &session.ForkOptions{ID: f.id}); err != nil {
		w.fatal("forking %s: %v", src.id, err)
	}
	w.runs = append(w.runs, f)
	p, err := w.boot(f, mode, false)
	if err != nil {
		w.fatal("starting the fork %s: %v", f.id, err)
	}
	f.process = p
}

// rename gives a session another title.
func (w *simulation) rename(r *run) {
	word := w.word()
	if err := w.outside.Rename(ctx, r.id, "title "+word); err != nil {
		w.fatal("renaming %s: %v", r.id, err)
	}
	w.note("rename %s: %s", r.id, word)
	w.say(r, word)
}
