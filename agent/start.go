package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/internal/project"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/tool/toolext"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// start opens the session once; later calls return the same loop. If emit is nil, the opening events
// are emitted by the next call with an emit function.
func (a *Agent) start(ctx context.Context, emit func(event.Event)) (*loop, error) {
	a.mu.Lock()
	closed, failed := a.closed, a.failed
	a.mu.Unlock()
	if closed {
		return nil, ErrClosed
	}
	if failed != nil {
		return nil, failed
	}
	if a.loop != nil {
		if a.loop.broken != nil {
			return nil, a.loop.broken
		}
		a.loop.emitOpened(emit)
		return a.loop, nil
	}
	var (
		l   *loop
		err error
	)
	switch {
	case a.opt.Sessions == nil:
		l, err = a.startFrom(a.opt.Transcript)
	case a.opt.NoPersist:
		l, err = a.startCopy(ctx)
	default:
		l, err = a.startSession(ctx)
	}
	if err != nil {
		return nil, err
	}
	if err := a.attachLoop(ctx, l); err != nil {
		if l.log != nil {
			err = errors.Join(err, l.log.Close())
		}
		return nil, err
	}
	err = l.enter(ctx)
	if err == nil {
		err = l.fireSessionStart(ctx)
	}
	if err == nil && !l.opened.Created && l.log != nil {
		l.opened.Notices = append(l.opened.Notices, a.opt.Subagents.resumed(ctx)...)
		err = l.closeOrphans(ctx)
	}
	if err != nil {
		l.broken = err
		return nil, err
	}
	l.emitOpened(emit)
	return l, nil
}

func (l *loop) emitOpened(emit func(event.Event)) {
	if l.emitted {
		return
	}
	l.opened.Tools = l.a.toolNames()
	if emit == nil {
		return
	}
	l.emitted = true
	l.emit = emit
	l.publish(l.opened)
	if l.repair != nil {
		l.publish(*l.repair)
	}
	l.emitPending()
}

// describe completes the description of a new session.
func (a *Agent) describe(o session.Opened) session.Opened {
	if o.Model == "" {
		o.Model = a.model.Info().Model // the same name that the items of its answers have
	}
	if o.CWD == "" {
		o.CWD = workingDirectory(&a.opt)
	}
	if o.CWD != "" && o.Project == "" {
		// A folder without a project id still gets a session.
		if id, branch, err := project.ID(o.CWD); err == nil {
			o.Project, o.GitBranch = id, branch
		}
	}
	for _, text := range []*string{&o.Title, &o.Summary, &o.Tag, &o.Prompt} { // the first record is never erased
		*text, _ = a.opt.Mask.Text(*text)
	}
	return o
}

func (a *Agent) startSession(ctx context.Context) (*loop, error) {
	ro := a.opt.Session
	ro.Opened = a.describe(ro.Opened)
	if given := a.opt.Session.Opened; ro.ContinueRecent && ro.Project == "" && (given.CWD != "" || given.Project != "") {
		ro.Project = ro.Opened.Project // if no folder is given, the newest session of any project is used
	}
	if err := a.approvalsInRunLog(ctx, &ro); err != nil {
		return nil, err
	}
	got, err := a.opt.Sessions.Restore(ctx, ro)
	if err != nil {
		return nil, err
	}
	l := newLoop(a)
	l.log, l.runLog = got.Log, got.Log
	if home := a.shared.runLog(); home != nil {
		l.runLog = home
	}
	l.turns, l.carried = got.State.Turns, carriedLimits(got.State)
	l.mark, l.used = got.State.Mark, got.State.UsedIDs
	l.saves.at = got.State.Saved
	a.once.recorded = got.State.NotificationIDs
	a.restoreSeenFiles(got.State.ShownFiles)
	l.use(got.Transcript)
	if got.Rewritten {
		l.setRepairEvent(got.Before)
	}
	if got.State.Mark == nil { // no request was sent since the last rewrite
		l.lastUsage = transcript.Usage{}
	}
	l.opened = event.SessionOpened{
		ID: got.Log.ID(), Created: got.Created, Forked: got.Forked, Items: len(got.State.Items),
		Notices: got.Notices, Recovery: got.Log.Recovery(),
	}
	l.setCaller()
	if a.shared.root == a {
		a.budget.restore(got.State)
	}
	if err := a.budget.checkPrices(a.model, a.opt.Model.Fallback); err != nil {
		return nil, errors.Join(fmt.Errorf("agent: %w", err), got.Log.Close())
	}
	l.restoreCwd(got.State.Cwd)
	notices, err := a.resumePolicy(ctx, got)
	l.opened.Notices = append(l.opened.Notices, notices...)
	if err == nil && got.Waiting {
		err = l.resume(ctx, got.State)
	}
	if err == nil {
		err = l.closeMoot(ctx, got.State)
	}
	if err != nil {
		return nil, errors.Join(err, got.Log.Close())
	}
	a.mu.Lock()
	a.queue = append(got.State.Queue, a.queue...)
	a.mu.Unlock()
	return l, nil
}

// setCaller adds to the opening event which session and tool use started this sub-agent.
func (l *loop) setCaller() {
	if o := &l.a.opt; o.parent != nil {
		l.opened.Caller, l.opened.Use, l.opened.Name = o.Session.Opened.Caller, o.Session.Opened.Use, o.AgentName
	}
}

// restoreSeenFiles tells the tools which files the transcript shows.
func (a *Agent) restoreSeenFiles(seen []record.FileShown) {
	a.mu.Lock()
	tools := a.tools.Tools()
	a.mu.Unlock()
	for _, t := range tools {
		if r, ok := t.(toolext.FileRecaller); ok && len(seen) > 0 {
			r.RestoreFiles(seen)
		}
	}
}

// startCopy restores a session's transcript without opening the session.
func (a *Agent) startCopy(ctx context.Context) (*loop, error) {
	l := newLoop(a)
	l.opened.Created = true
	id := a.opt.Session.SessionID
	if id == "" && a.opt.Session.ContinueRecent {
		var err error
		if id, err = a.opt.Sessions.Newest(ctx, a.opt.Session.Project); err != nil {
			return nil, err
		}
	}
	if id == "" {
		return l, nil
	}
	got, err := a.opt.Sessions.Load(ctx, id, nil)
	if errors.Is(err, session.ErrNotFound) && !a.opt.Session.MustExist {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	l.opened = event.SessionOpened{ID: id}
	if st, err := a.opt.Sessions.StateAt(ctx, id, got.Meta.Head); err == nil { // otherwise the model would have to read files again
		a.restoreSeenFiles(st.ShownFiles)
		if a.shared.root == a {
			a.budget.restore(st)
		}
	}
	return l, l.loadRepaired(got.Items)
}

func (a *Agent) startFrom(items []transcript.Item) (*loop, error) {
	l := newLoop(a)
	l.opened.Created = true
	list := make([]transcript.Encoded, 0, len(items))
	for i, it := range items {
		if it.ID == "" {
			it.ID = a.opt.NewID()
		}
		e, err := it.Encode()
		if err != nil {
			return nil, fmt.Errorf("agent: transcript item %d: %w", i, err)
		}
		list = append(list, e)
	}
	return l, l.loadRepaired(list)
}

// loadRepaired loads items that no store has checked, and repairs them.
func (l *loop) loadRepaired(items []transcript.Encoded) error {
	before := len(items)
	items, notes, err := history.Repair(items, l.a.opt.NewID)
	if err != nil {
		return err
	}
	for _, n := range notes {
		l.opened.Notices = append(l.opened.Notices, n.String())
	}
	l.opened.Items = len(items)
	if err = l.load(items); err == nil && len(notes) > 0 {
		l.setRepairEvent(before)
	}
	return err
}

// setRepairEvent prepares the event about the repair, for hosts that keep their own copy of the
// transcript.
func (l *loop) setRepairEvent(before int) {
	l.repair = &event.TranscriptRewritten{Mutator: byRepair, When: "at_start", Before: before, After: l.t.Len()}
}

// byRepair is the mutator name of the repair when a session is opened: calls without a result get
// one, and unpaired items are removed.
const byRepair = "repair"

func (l *loop) load(items []transcript.Encoded) error {
	t := &transcript.Transcript{}
	err := t.Append(items...)
	if err == nil {
		err = t.Check()
	}
	if err != nil {
		return fmt.Errorf("agent: restored transcript: %w", err)
	}
	l.use(t)
	return nil
}

// use continues with a valid transcript.
func (l *loop) use(t *transcript.Transcript) {
	l.t = t
	for i := t.Len() - 1; i >= 0; i-- {
		if e := t.At(i); e.Role() == transcript.RoleAssistant {
			if it, err := e.Decode(); err == nil && it.Usage != nil {
				l.lastUsage = *it.Usage
			}
			break
		}
	}
}
