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

// workers are the sub-agents and teammates of a run's agent, and its task list.
type workers struct {
	box       *Toolbox // of the run's agent
	subagents *agent.Subagents
	team      *team.Team
	tasks     *tasks.List

	subagentServers []settings.MCPServer // the MCP servers of sub-agent definitions
	problems        []agentdef.Problem   // of definitions
}

// agentsKit has the tools for sub-agents, teammates and the task list, which teammates share. In a
// container there are none, because an agent has only its own session there.
func (b *Toolbox) agentsKit() ([]tool.Tool, error) {
	switch {
	case b.contained:
		return nil, nil
	case b.sub:
		return b.workers.tasksOf(b)
	}
	c := &workers{box: b}
	c.team = team.New(&team.Options{Tasks: func() *tasks.List { return c.tasks }})
	c.tasks = tasks.Open(nil, "", &tasks.Options{FindSession: c.taskListSession, Created: c.created, Completed: c.completed, Changed: c.notifyTeam})
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
	c.subagentServers, c.problems, b.workers = set.Servers, set.Problems, c
	teamTools, err := c.team.Tools()
	if err != nil {
		return nil, err
	}
	list, err := c.tasksOf(b)
	return slices.Concat([]tool.Tool{c.subagents.Tool()}, teamTools, list), err
}

// Subagents returns the sub-agent option of the run's agent.
func (b *Toolbox) Subagents() *agent.Subagents {
	if b.workers == nil {
		return nil
	}
	return b.workers.subagents
}

// tasksOf returns the tools of the task list: TodoWrite if the requested tools include it but not
// TaskCreate, otherwise TaskCreate and the related tools. Sub-agents that end after their task have
// none of these tools, unless their definition names them.
func (c *workers) tasksOf(b *Toolbox) ([]tool.Tool, error) {
	if c == nil {
		return nil, nil
	}
	requested := b.requested
	if !b.sub {
		requested = b.only
	}
	if slices.Contains(requested, "TodoWrite") && !slices.Contains(requested, "TaskCreate") {
		t, err := c.tasks.TodoTool(b.teammate)
		return []tool.Tool{t}, err
	}
	if b.sub && b.teammate == "" && !slices.ContainsFunc(requested, func(s string) bool { return strings.HasPrefix(s, "Task") }) {
		return nil, nil
	}
	return c.tasks.Tools(b.teammate)
}

// setupSubagent creates the tools of one sub-agent.
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

// observer returns the telemetry observer of a sub-agent. Without a store its session has no id
// that distinguishes it from its parent.
func observer(ctx context.Context, t *otel.Telemetry, w agent.SubagentRequest) agent.LoopObserver {
	if a := agent.FromContext(ctx); a == nil || a.SessionID() == "" {
		return t.Agent(cmp.Or(w.Name, w.Definition.Name))
	}
	return t
}

// servers returns the MCP servers that belong to a sub-agent definition.
func (c *workers) servers(kind string) (list []*settings.MCPServer) {
	for _, srv := range Startable(c.subagentServers) {
		if srv.Kind == kind {
			list = append(list, srv)
		}
	}
	return list
}

// prepare adds the skills, the memory and the worktree of a sub-agent's definition.
func (b *Toolbox) prepare(d agent.Definition, with *agent.SubagentSetup) error {
	list, err := b.preloadedSkills(d.Skills)
	if err != nil {
		return err
	}
	for _, sk := range list {
		with.Instructions.Text = strings.TrimPrefix(with.Instructions.Text+"\n\n"+sk.Text(""), "\n\n")
	}
	if err := b.addMemory(d, with); err != nil {
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
			if err := allowReading(ctx, agent.FromContext(ctx), sk); err != nil {
				return "", "", err
			}
		}
		return begin(ctx)
	}
	return nil
}

// preloadedSkills returns the skills that a sub-agent definition preloads. It is an error if a
// skill is unknown or not trusted.
func (b *Toolbox) preloadedSkills(names []string) ([]*skills.Skill, error) {
	var list []*skills.Skill
	for _, name := range names {
		var sk *skills.Skill
		ok := false
		if b.skillSet != nil {
			sk, ok = b.skillSet.Set.Find(name)
		}
		if !ok {
			return nil, fmt.Errorf("unknown or untrusted skill %.80q; hint: run holdfast skills list", name)
		}
		list = append(list, sk)
	}
	return list, nil
}

// aliases are names such as haiku that definitions for Claude Code use instead of a model's name.
var aliases = map[string]string{"opus": "claude-opus-4-6", "sonnet": "claude-sonnet-4-6", "haiku": "claude-haiku-4-5"}

// smallModel returns the small model of the settings, or "".
func (c *workers) smallModel() string {
	if c.box.settings == nil {
		return ""
	}
	return c.box.settings.Models.Small.Value
}

// model returns the model that a definition or a call names: PROVIDER/MODEL, a model of the run's
// provider, or an alias. The alias haiku is the small model of the settings. Any other alias is a
// model of Anthropic if the run's provider is Anthropic, else the run's model.
func (c *workers) model(name string) (model.Model, error) {
	of, err := c.box.agentHandle.agent()
	if err != nil {
		return nil, err
	}
	runModel := of.Model()
	if c.box.model != nil {
		if _, alias := aliases[name]; alias {
			return runModel, nil
		}
		return nil, fmt.Errorf("model %s is not available; this run has only %s", name, runModel.Info())
	}
	if small := c.smallModel(); name == "haiku" && small != "" {
		name = small
	}
	if full, alias := aliases[name]; alias {
		if runModel.Info().Provider != "anthropic" {
			return runModel, nil
		}
		name = full
	}
	base := ""
	if !strings.Contains(name, "/") {
		name = runModel.Info().Provider + "/" + name
	}
	if models.Provider(name) == runModel.Info().Provider {
		base = c.box.spec.ModelOptions.BaseURL
	}
	return models.New(context.Background(), c.box.env, "model", name, base, c.box.settings)
}

// taskListSession returns the session with the task list: the session of the run's agent or, if that is not
// stored, a session in memory.
func (c *workers) taskListSession(ctx context.Context) (*session.Sessions, string, error) {
	a, err := c.box.agentHandle.agent()
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
	return c.runTaskHooks(ctx, hook.TaskCreated, t, by)
}

func (c *workers) completed(ctx context.Context, t tasks.Task, by string) error {
	return c.runTaskHooks(ctx, hook.TaskCompleted, t, by)
}

// runTaskHooks runs hooks for an event of a task.
func (c *workers) runTaskHooks(ctx context.Context, e hook.Event, t tasks.Task, by string) error {
	in := hook.Input{Event: e, Task: hook.Task{ID: t.ID, Subject: t.Subject, Description: t.Description}}
	if by != "" {
		in.Task.Teammate, in.Task.Team = by, c.team.Name()
	}
	out, err := c.box.agentHandle.fire(ctx, in)
	switch {
	case err != nil:
		return err
	case out.Block != nil:
		return errors.New("blocked by a " + string(e) + " hook: " + cmp.Or(out.Block.Text, out.Block.Hook))
	}
	return nil
}

// Offered lists by name what a run offers in addition to tools.
type Offered struct{ Agents, Skills, Commands []string }

// Offered lists by name what the run offers in addition to tools.
func (b *Toolbox) Offered() (o Offered) {
	if b.workers != nil {
		for _, d := range b.workers.subagents.Definitions() {
			o.Agents = append(o.Agents, d.Name)
		}
	}
	if b.skillSet == nil {
		return o
	}
	for _, sk := range b.skillSet.Set.Skills {
		if !sk.Command {
			o.Skills = append(o.Skills, sk.Name)
		}
		if sk.UserInvocable {
			o.Commands = append(o.Commands, sk.Name)
		}
	}
	return o
}

// notifyTeam notifies teammates about tasks that are ready. A failed notification is repeated when the
// session is resumed.
func (c *workers) notifyTeam(ctx context.Context) {
	_ = c.team.NotifyUnblocked(context.WithoutCancel(ctx))
}

// definitions returns the sub-agent definitions, with the problems of invalid ones.
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
