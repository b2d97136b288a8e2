package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/agentdef"
	"github.com/holdfast-dev/holdfast/internal/compose/models"
	"github.com/holdfast-dev/holdfast/internal/otel"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/tool/skills"
	"github.com/holdfast-dev/holdfast/internal/tool/tasks"
	"github.com/holdfast-dev/holdfast/internal/tool/team"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/tool"
)

// workers is whom a run's agent may give work to, and the list of what is to be done.
type workers struct {
	box       *Toolbox // of the run's agent
	subagents *agent.Subagents
	team      *team.Team
	tasks     *tasks.List

	subagentServers []settings.MCPServer // MCP servers that kinds of sub-agents bring along
	problems        []agentdef.Problem   // of definitions
}

// agentsKit lets the agent give work to sub-agents and teammates, and keep a list of tasks,
// on which teammates work too. Not in a container, where an agent has only its own session.
func (b *Toolbox) agentsKit() ([]tool.Tool, error) {
	switch {
	case b.contained:
		return nil, nil
	case b.sub:
		return b.crew.tasksOf(b)
	}
	c := &workers{box: b}
	c.team = team.New(&team.Options{Tasks: func() *tasks.List { return c.tasks }})
	c.tasks = tasks.Open(nil, "", &tasks.Options{FindSession: c.where, Created: c.created, Completed: c.completed, Changed: c.changed})
	set, err := b.definitions()
	if err != nil {
		return nil, err
	}
	c.subagents, err = agent.NewSubagents(&agent.SubagentOptions{
		Definitions: set.Definitions, Model: c.model, Tools: c.setupSubagent, Named: c.team.Join, Resumed: c.team.Resume,
	})
	if err != nil {
		return nil, err
	}
	c.subagentServers, c.problems, b.crew = set.Servers, set.Problems, c
	mates, err := c.team.Tools()
	if err != nil {
		return nil, err
	}
	list, err := c.tasksOf(b)
	return slices.Concat([]tool.Tool{c.subagents.Tool()}, mates, list), err
}

// Subagents are the option of the run's agent.
func (b *Toolbox) Subagents() *agent.Subagents {
	if b.crew == nil {
		return nil
	}
	return b.crew.subagents
}

// tasksOf are the tools of the list of tasks: TaskCreate and its like, or TodoWrite where
// that is wanted by name and they are not. Sub-agents that do not live on have none,
// unless their kind names them.
func (c *workers) tasksOf(b *Toolbox) ([]tool.Tool, error) {
	if c == nil {
		return nil, nil
	}
	wanted := b.requested
	if !b.sub {
		wanted = b.only
	}
	if slices.Contains(wanted, "TodoWrite") && !slices.Contains(wanted, "TaskCreate") {
		t, err := c.tasks.TodoTool(b.actor)
		return []tool.Tool{t}, err
	}
	if b.sub && b.actor == "" && !slices.ContainsFunc(wanted, func(s string) bool { return strings.HasPrefix(s, "Task") }) {
		return nil, nil
	}
	return c.tasks.Tools(b.actor)
}

// setupSubagent makes the tools of one sub-agent.
func (c *workers) setupSubagent(ctx context.Context, w agent.SubagentRequest) (agent.SubagentSetup, error) {
	cwd := cmp.Or(w.CWD, c.box.folders.Cwd())
	if _, err := c.box.folders.Locate(cwd); err != nil {
		cwd = c.box.folders.Roots()[0]
	}
	sub, err := c.box.derive(ctx, cwd, w)
	if err != nil {
		return agent.SubagentSetup{}, err
	}
	with := agent.SubagentSetup{
		Tools: sub.Registry, Background: sub.Background, RestoreDir: sub.RestoreDir, Instructions: sub.AgentInstructions(), LoopObservers: []agent.LoopObserver{sub},
		OnLeaseLost: sub.EndServers,
		Close:       func() error { sub.Close(); return nil },
	}
	if t := c.box.Telemetry; t != nil {
		with.LoopObservers = append(with.LoopObservers, observer(ctx, t, w))
	}
	if err := sub.prepare(w.Definition, &with); err != nil {
		sub.Close()
		return agent.SubagentSetup{}, err
	}
	return with, nil
}

// observer tells the telemetry what a sub-agent does. Without a store its session has no id
// by which it is told from its parent.
func observer(ctx context.Context, t *otel.Telemetry, w agent.SubagentRequest) agent.LoopObserver {
	if a := agent.FromContext(ctx); a == nil || a.SessionID() == "" {
		return t.Agent(cmp.Or(w.Name, w.Definition.Name))
	}
	return t
}

// servers are the MCP servers that a kind of sub-agents has of its own.
func (c *workers) servers(kind string) (list []*settings.MCPServer) {
	for _, srv := range Startable(c.subagentServers) {
		if srv.Kind == kind {
			list = append(list, srv)
		}
	}
	return list
}

// prepare gives a sub-agent the skills, the memory and the worktree that its kind wants.
func (b *Toolbox) prepare(d agent.Definition, with *agent.SubagentSetup) error {
	list, err := b.preloadedSkills(d.Skills)
	if err != nil {
		return err
	}
	for _, sk := range list {
		with.Instructions.Text = strings.TrimPrefix(with.Instructions.Text+"\n\n"+sk.Text(""), "\n\n")
	}
	if err := b.remember(d, with); err != nil {
		return err
	}
	begin := func(context.Context) (string, string, error) { return "", "", nil }
	if d.Isolation {
		if err := b.CheckWorktree(); err != nil {
			return err
		}
		begin = b.EnterWorktree("", "agent")
		with.OnEnd = func(ctx context.Context) string { return b.LeaveWorktree(ctx, false) }
	}
	with.EnterDir = func(ctx context.Context) (string, string, error) {
		for _, sk := range list {
			if err := readable(ctx, agent.FromContext(ctx), sk); err != nil {
				return "", "", err
			}
		}
		return begin(ctx)
	}
	return nil
}

// preloadedSkills are skills that a kind of sub-agent has read when it begins. One that is not there,
// or that narrows what can be called while it is in force, keeps it from beginning.
func (b *Toolbox) preloadedSkills(names []string) ([]*skills.Skill, error) {
	var list []*skills.Skill
	for _, name := range names {
		var sk *skills.Skill
		ok := false
		if b.found != nil {
			sk, ok = b.found.Set.Find(name)
		}
		if !ok {
			return nil, fmt.Errorf("unknown skill %.80q; list the skills of this project: holdfast skills list", name)
		}
		list = append(list, sk)
	}
	return list, nil
}

// models that definitions for Claude Code name by what they are good at.
var aliases = map[string]string{"opus": "claude-opus-4-6", "sonnet": "claude-sonnet-4-6", "haiku": "claude-haiku-4-5"}

// smallModel is the small model that the settings name, or "".
func (c *workers) smallModel() string {
	if c.box.settings == nil {
		return ""
	}
	return c.box.settings.Models.Small.Value
}

// model is one that a definition or a call names: PROVIDER/MODEL, a model of the run's
// provider, or an alias: haiku is the small model of the settings, and each is one of
// Anthropic's where that is the run's provider and else the run's own.
func (c *workers) model(name string) (model.Model, error) {
	of, err := c.box.host.agent()
	if err != nil {
		return nil, err
	}
	own := of.Model()
	if c.box.model != nil {
		if _, alias := aliases[name]; alias {
			return own, nil
		}
		return nil, fmt.Errorf("model %s: there is only %s here", name, own.Info())
	}
	if small := c.smallModel(); name == "haiku" && small != "" {
		name = small
	}
	if full, alias := aliases[name]; alias {
		if own.Info().Provider != "anthropic" {
			return own, nil
		}
		name = full
	}
	base := ""
	if !strings.Contains(name, "/") {
		name = own.Info().Provider + "/" + name
	}
	if models.Provider(name) == own.Info().Provider {
		base = c.box.spec.ModelOptions.BaseURL
	}
	return models.New(context.Background(), c.box.env, "model", name, base, c.box.settings)
}

// where is the session whose list of tasks it is: that of the run's agent, or one in
// memory where that is not kept.
func (c *workers) where(ctx context.Context) (*session.Sessions, string, error) {
	a, err := c.box.host.agent()
	if err != nil {
		return nil, "", err
	}
	if s := a.Sessions(); s != nil && a.Snapshot().Seq > 0 {
		return s, a.SessionID(), nil
	}
	s := session.New(memory.New(), nil)
	l, err := s.Create(ctx, session.Opened{})
	if err != nil {
		return nil, "", err
	}
	return s, l.ID(), l.Close()
}

func (c *workers) created(ctx context.Context, t tasks.Task, by string) error {
	return c.ask(ctx, hook.TaskCreated, t, by)
}

func (c *workers) completed(ctx context.Context, t tasks.Task, by string) error {
	return c.ask(ctx, hook.TaskCompleted, t, by)
}

// ask asks hooks about a task.
func (c *workers) ask(ctx context.Context, e hook.Event, t tasks.Task, by string) error {
	in := hook.Input{Event: e, Task: hook.Task{ID: t.ID, Subject: t.Subject, Description: t.Description}}
	if by != "" {
		in.Task.Teammate, in.Task.Team = by, c.team.Name()
	}
	out, err := c.box.host.fire(ctx, in)
	switch {
	case err != nil:
		return err
	case out.Block != nil:
		return errors.New("a " + string(e) + " hook keeps it from that: " + cmp.Or(out.Block.Text, out.Block.Hook))
	}
	return nil
}

// Offered is what a run has by name besides tools.
type Offered struct{ Agents, Skills, Commands []string }

// Offered is what the run has by name besides tools.
func (b *Toolbox) Offered() (o Offered) {
	if b.crew != nil {
		for _, d := range b.crew.subagents.Definitions() {
			o.Agents = append(o.Agents, d.Name)
		}
	}
	if b.found == nil {
		return o
	}
	for _, sk := range b.found.Set.Skills {
		if !sk.Command {
			o.Skills = append(o.Skills, sk.Name)
		}
		if sk.UserInvocable {
			o.Commands = append(o.Commands, sk.Name)
		}
	}
	return o
}

// changed has teammates told of what is free to begin. What cannot be told now is when the
// session is gone on with.
func (c *workers) changed(ctx context.Context) { _ = c.team.Ready(context.WithoutCancel(ctx)) }

// definitions are the kinds of sub-agents, with what is wrong with some of them.
func (b *Toolbox) definitions() (*agentdef.Set, error) {
	if b.env == nil || b.settings == nil || b.spec == nil {
		return &agentdef.Set{Definitions: []agent.Definition{agent.GeneralPurpose}}, nil
	}
	set, err := Definitions(b.env, b.settings, string(b.spec.Agents))
	if err != nil {
		return nil, err
	}
	for _, p := range set.Problems {
		if p.Fatal && p.File == "--agents" {
			return nil, outcome.Invalid(p.String(), p.Hint)
		}
	}
	set.Problems = append(set.Problems, serverProblems(b.settings, set)...)
	if err := dropUntrustedMemories(b.settings, set); err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(set.Definitions, func(d agent.Definition) bool { return d.Name == agent.GeneralPurpose.Name }) {
		set.Definitions = append([]agent.Definition{agent.GeneralPurpose}, set.Definitions...)
	}
	return set, nil
}
