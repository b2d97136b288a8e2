package team

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/tool/tasks"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Options configure [New].
type Options struct {
	// Tasks returns the shared task list; it is called when the list is needed. If it is nil,
	// teammates are not notified of unblocked tasks.
	Tasks func() *tasks.List
	// Max is the maximum number of teammates; default 16.
	Max int
}

// Team is the team of one agent, the lead. A lead has one team at a time. It is safe for concurrent
// use.
type Team struct {
	o Options

	mu      sync.Mutex
	subs    *agent.Subagents // set when the first teammate is created
	name    string           // "" if there is no team
	about   string
	members map[string]*teammate     // by name
	joining map[string]chan struct{} // teammates that are being started; each channel is closed when the start is complete
}

// teammate is a running teammate.
type teammate struct {
	*agent.Teammate
	member
	ending      bool // the teammate leaves when it becomes idle
	keptWorking int  // number of times in a row that hooks made the teammate continue
}

// maxKeepWorking is the maximum number of times in a row that hooks may make a teammate continue.
const maxKeepWorking = 8

// New returns a team without members.
func New(o *Options) *Team {
	t := &Team{members: map[string]*teammate{}, joining: map[string]chan struct{}{}}
	if o != nil {
		t.o = *o
	}
	if t.o.Max <= 0 {
		t.o.Max = 16
	}
	return t
}

// Name returns the team's name, or "" if there is no team.
func (t *Team) Name() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.name
}

// MemberOf returns the member of a session: "team-lead", the name of a teammate, or "".
func (t *Team) MemberOf(sessionID string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.subs == nil {
		return ""
	}
	if lead := t.subs.Agent(); lead != nil && lead.SessionID() == sessionID {
		return leadName
	}
	for name, m := range t.members {
		if m.Session() == sessionID {
			return name
		}
	}
	return ""
}

// lead returns the agent that leads the team. There is one if there are teammates.
func (t *Team) lead() *agent.Agent {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.subs.Agent()
}

// memberList returns the teammates by name.
func (t *Team) memberList() []*teammate {
	t.mu.Lock()
	defer t.mu.Unlock()
	var list []*teammate
	for _, m := range t.members {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b *teammate) int { return strings.Compare(a.name, b.name) })
	return list
}

// Join is a function for [agent.SubagentOptions].Named. It makes the sub-agent a teammate.
func (t *Team) Join(ctx context.Context, s *agent.Subagents, c *tool.Call, o agent.TeammateOptions, team, prompt string) (tool.Result, error) {
	who := member{team: team, name: o.Name, kind: o.Kind.Name, mode: o.Mode, model: o.Kind.Model}
	for _, d := range s.Definitions() {
		if d.Name == who.kind && d.Model == who.model {
			who.model = ""
		}
	}
	if err := t.admit(s, &who); err != nil {
		return tool.Failure(err.Error()), nil
	}
	defer t.joinDone(who.name)
	text := "Message from " + leadName + ":\n" + prompt
	if about := t.purpose(); about != "" {
		text = "Purpose of the team: " + about + "\n\n" + text
	}
	m, err := t.startTeammate(ctx, s, agent.TeammateOptions{Title: o.Title, Use: c.ID, Before: func(ctx context.Context, m *agent.Teammate) error {
		_, err := m.QueueNotificationOnce(ctx, "task-of-"+m.Session(), transcript.Text{Text: text}) // its first message
		return err
	}}, who, o.Kind)
	if err != nil {
		return tool.Failure("starting the teammate failed: " + err.Error()), nil
	}
	if err := t.NotifyUnblocked(ctx); err != nil {
		return tool.Result{}, err
	}
	return tool.Text(fmt.Sprintf("%s joined the team %s in session %s. Use SendMessage to write to it; you are notified when it becomes idle.",
		who.name, who.team, m.Session())), nil
}

func (t *Team) purpose() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.about
}

// admit checks whether a teammate may join, and sets the team.
func (t *Team) admit(s *agent.Subagents, who *member) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if who.team == "" {
		who.team = t.name
	}
	if who.team == "" {
		who.team = "team"
	}
	lead := s.Agent()
	switch {
	case lead == nil || lead.Snapshot().Seq == 0: // without a log
		return errors.New("a team requires a stored session")
	case checkName(who.name) != nil:
		return checkName(who.name)
	case checkName(who.team) != nil:
		return checkName(who.team)
	case strings.ContainsAny(who.kind+who.model, ";\n"):
		return fmt.Errorf("a sub-agent with the agent definition %q and the model %q cannot be a teammate: the name contains a semicolon or a line break", who.kind, who.model)
	case t.name != "" && who.team != t.name:
		return fmt.Errorf("the team %s already exists, and only one is allowed; end it with TeamDelete first", t.name)
	case t.members[who.name] != nil || t.joining[who.name] != nil:
		return fmt.Errorf("the teammate %s already exists; use SendMessage to write to it", who.name)
	case len(t.members)+len(t.joining) >= t.o.Max:
		return fmt.Errorf("a team has at most %d teammates", t.o.Max)
	}
	t.subs, t.name, t.joining[who.name] = s, who.team, make(chan struct{})
	return nil
}

// joinDone records that a start has succeeded or failed.
func (t *Team) joinDone(name string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	close(t.joining[name])
	delete(t.joining, name)
}

// awaitJoining waits for teammates that are being started. One answer may start several, and the first of
// them may write to the last.
func (t *Team) awaitJoining(ctx context.Context) error {
	for {
		t.mu.Lock()
		var one chan struct{}
		for _, one = range t.joining {
			break
		}
		t.mu.Unlock()
		if one == nil {
			return nil
		}
		select {
		case <-one:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// startTeammate starts a teammate.
func (t *Team) startTeammate(ctx context.Context, s *agent.Subagents, h agent.TeammateOptions, who member, kind agent.Definition) (*teammate, error) {
	if h.Session == "" {
		kind = who.withTeamPrompt(kind)
	}
	send, err := t.sendTool()
	if err != nil {
		return nil, err
	}
	m := &teammate{member: who}
	h.Name, h.Kind, h.Mode, h.Tag = who.name, kind, who.mode, who.tag(teammatePrefix)
	h.Tools = []tool.Tool{send}
	h.OnIdle = func(ctx context.Context, _ *agent.Teammate, last *event.Result) string {
		return t.onIdle(ctx, m, last)
	}
	h.OnError = func(_ *agent.Teammate, err error) {
		t.forget(m)
		t.notifyLead(context.Background(), "broken-"+m.Session(), fmt.Sprintf("The teammate %s has stopped: %v", who.name, err))
	}
	before := h.Before
	h.Before = func(ctx context.Context, a *agent.Teammate) error {
		if err := before(ctx, a); err != nil {
			return err
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		m.Teammate = a // it becomes a member before its first turn, because it may write to other members in that turn
		t.subs, t.name, t.members[who.name] = s, who.team, m
		return nil
	}
	if _, err := s.StartTeammate(ctx, h); err != nil {
		t.forget(m)
		return nil, err
	}
	return m, nil
}

func (t *Team) forget(m *teammate) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.members[m.name] == m {
		delete(t.members, m.name)
	}
}

// Resume is a function for [agent.SubagentOptions].Resumed. It resumes the teammates of the lead's
// session. The returned texts are intended for the user.
func (t *Team) Resume(ctx context.Context, s *agent.Subagents) []string {
	lead := s.Agent()
	if lead == nil || lead.Sessions() == nil {
		return nil
	}
	begun, err := lead.Sessions().Children(ctx, lead.SessionID())
	if err != nil {
		return []string{"the teammates of this session are not available: " + err.Error()}
	}
	names := map[string]string{leadName: lead.SessionID()}
	for _, at := range begun {
		if who, ok := parseTag(at.Tag); ok {
			names[who.name] = at.ID
		}
	}
	if len(names) == 1 {
		return nil
	}
	var notices []string
	if err := t.reportUnknownCalls(ctx, lead, names); err != nil {
		notices = append(notices, "delivery of messages is unknown: "+err.Error())
	}
	for _, at := range begun {
		who, ok := parseTag(at.Tag)
		if !ok {
			continue
		}
		if err := t.resume(ctx, s, at, who, names); err != nil {
			notices = append(notices, fmt.Sprintf("the teammate %s (%s) is not available: %v", who.name, at.ID, err))
			continue
		}
		notices = append(notices, fmt.Sprintf("the teammate %s was resumed in session %s", who.name, at.ID))
	}
	if err := t.NotifyUnblocked(ctx); err != nil {
		notices = append(notices, "notifying the teammates of their tasks failed: "+err.Error())
	}
	return notices
}

func (t *Team) resume(ctx context.Context, s *agent.Subagents, at session.Meta, who member, names map[string]string) error {
	kind, err := who.definition(s)
	if err != nil {
		return err
	}
	m, err := t.startTeammate(ctx, s, agent.TeammateOptions{Title: at.Title, Session: at.ID, Before: func(ctx context.Context, m *agent.Teammate) error {
		return t.reportUnknownCalls(ctx, m.Agent(), names)
	}}, who, kind)
	if err != nil {
		return err
	}
	if snap := m.Agent().Snapshot(); len(snap.Items) == 0 && len(snap.Pending) == 0 {
		t.notifyLead(ctx, "untold-"+m.Session(), fmt.Sprintf("The teammate %s was started but has no task yet: send it with SendMessage.", who.name))
	}
	return nil
}

// NotifyUnblocked notifies the owners of unblocked tasks, once for each task. Call it after the task list has
// changed.
func (t *Team) NotifyUnblocked(ctx context.Context) error {
	var err error
	for _, m := range t.memberList() {
		_, one := t.notifyUnblocked(ctx, m)
		err = errors.Join(err, one)
	}
	return err
}

// notifyUnblocked notifies a teammate of its unblocked tasks.
func (t *Team) notifyUnblocked(ctx context.Context, m *teammate) (notified bool, err error) {
	if t.o.Tasks == nil {
		return false, nil
	}
	board := t.o.Tasks()
	if board == nil {
		return false, nil
	}
	list, err := board.List(ctx)
	if err != nil {
		return false, err
	}
	for _, task := range list {
		if task.Owner != m.name || task.Status != tasks.Pending || len(tasks.Blockers(list, task)) > 0 {
			continue
		}
		text := fmt.Sprintf("You own task %s, and it is not blocked: %s", task.ID, task.Subject)
		if task.Description != "" {
			text += "\n" + task.Description
		}
		one, err := m.QueueNotificationOnce(ctx, "task-"+task.ID+"-is-free", transcript.Text{Text: text})
		if err != nil && !errors.Is(err, agent.ErrClosed) {
			return notified, err
		}
		notified = notified || one
	}
	return notified, nil
}

// notifyLead sends the lead a notification once. If the lead is ending, it reads the notification when the
// session is resumed.
func (t *Team) notifyLead(ctx context.Context, id, text string) {
	t.mu.Lock()
	subs := t.subs
	t.mu.Unlock()
	if subs == nil || subs.Agent() == nil {
		return
	}
	_, _ = subs.Agent().QueueNotificationOnce(ctx, id, transcript.Text{Text: text})
}
