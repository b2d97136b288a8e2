package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/spelling"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Definition defines a kind of sub-agent.
type Definition struct {
	Name        string // the name in calls and in rules: Agent(Name)
	Description string // text that says when the model should use this sub-agent
	Prompt      string // the system prompt
	// Tools are the parent's tools that the sub-agent may use; nil means all. DisallowedTools
	// removes some. mcp__SERVER and mcp__SERVER__* mean all tools of an MCP server; in
	// DisallowedTools, mcp__* means the tools of all servers.
	Tools, DisallowedTools []string
	// ToolRules are rules, such as Bash(git diff:*). A tool that the rules name may be called only
	// as the rules allow.
	ToolRules  []string
	Model      string      // "" or "inherit" means the parent's model
	Mode       policy.Mode // "" is the parent's mode; a sub-agent's mode is never weaker than the parent's mode
	MaxTurns   int         // maximum number of model calls; 0 is the parent's limit, and a sub-agent's limit cannot be higher
	Background bool        // true if its calls are always background tasks
	// [SubagentOptions].Tools must provide the following; without it they are an error. Isolation
	// gives each sub-agent its own checkout. Skills are loaded when the sub-agent starts. Servers
	// are MCP servers of the run, or servers of only this sub-agent. Memory is the layer of the
	// memory folder that the sub-agent keeps between sessions: user, project, local, or "" for
	// none.
	Isolation bool
	Skills    []string
	Servers   []string
	Memory    string
	Origin    string // where the definition comes from, for messages
}

// GeneralPurpose is the only definition if no other is given.
var GeneralPurpose = Definition{
	Name:        "general-purpose",
	Description: "Works on a multi-step task with the same tools and reports its result.",
	Prompt: "You are a sub-agent. Another agent gave you a task and reads your last message as the result. " +
		"No one answers questions while you work. Complete the whole task, then report what you found or did, with the facts the other agent needs.",
}

// SubagentOptions are the options of [NewSubagents].
type SubagentOptions struct {
	// Definitions are the kinds of sub-agents; the default is [GeneralPurpose]. Duplicate names are
	// an error.
	Definitions []Definition
	// Model returns a model that a definition or a call names. If it is nil, only the parent's model
	// is available.
	Model func(name string) (model.Model, error)
	// Tools returns the tools and other settings for one sub-agent. The definition then restricts
	// the tools. If Tools is nil, the sub-agent gets its parent's tools and shares their current
	// directory and their list of read files.
	Tools func(ctx context.Context, w SubagentRequest) (SubagentSetup, error)
	// Limit is the maximum number of sub-agents that work at the same time; others wait. Default
	// 10.
	Limit int
	// Named handles calls that name the sub-agent, which makes it a teammate
	// ([Subagents.StartTeammate]). The options contain Name, Kind, Title and Mode of the call; team
	// is the team to join, or "". If it is nil, the model cannot name sub-agents.
	Named func(ctx context.Context, s *Subagents, c *tool.Call, o TeammateOptions, team, prompt string) (tool.Result, error)
	// Resumed is called when the agent resumes a session. It starts the teammates of that session
	// again. The returned texts are for the user.
	Resumed func(ctx context.Context, s *Subagents) (notices []string)
}

// SubagentSetup contains the tools and other settings of one sub-agent.
type SubagentSetup struct {
	Tools         *tool.Registry
	ExtraTools    []tool.Tool            // tools that the sub-agent gets even if its definition's Tools do not name them
	Folder        string                 // the sub-agent's own folder, see [policy.Guards.OwnFolder]; "" means none
	Background    *Background            // see [Options].Background; ends with the sub-agent
	RestoreDir    func(dir string) error // see [Options].RestoreDir
	Instructions  Instructions           // see [Options].Instructions
	LoopObservers []LoopObserver
	// EnterDir is the [Options].EnterDir of the sub-agent.
	EnterDir func(ctx context.Context) (dir, text string, err error)
	// OnEnd, if not nil, is called when the sub-agent has ended, before Close. It returns a text
	// for the parent's model about what remains, such as a checkout with changes, or "".
	OnEnd func(ctx context.Context) string
	// OnLeaseLost is the [Options].OnLeaseLost of the sub-agent.
	OnLeaseLost func(error)
	Close       func() error // called when the sub-agent has ended; may be nil
}

// SubagentRequest describes the sub-agent that needs tools.
type SubagentRequest struct {
	Definition Definition
	Name       string // the name of a teammate, or ""
	Session    string // the id of the session that it resumes, or ""
	CWD        string // the folder of that session, or ""
}

// Subagents lets one agent, the parent, give tasks to sub-agents. Each sub-agent has its own
// session, which is owned by the session of the run, and its own guards, which are never weaker
// than the parent's. It shares the budget of the run. A sub-agent ends with the call that started
// it: at the latest when the parent's turn ends, or when the parent is closed if the call is a
// background task.
type Subagents struct {
	o     SubagentOptions
	tool  tool.Tool
	slots chan struct{}

	mu         sync.Mutex
	a          *Agent
	live       []*Agent // sub-agents and teammates that have started and have not ended
	teammates  []*Teammate
	changed    chan struct{} // closed and replaced when a teammate becomes idle or ends
	closed     bool
	suspending bool // true if Suspend closed the sub-agents; their teammates will be resumed later
}

type agentInput struct {
	Description string `json:"description" jsonschema:"The task in three to five words"`
	Prompt      string `json:"prompt" jsonschema:"The task with everything needed to do it. The sub-agent does not see this conversation."`
	Type        string `json:"subagent_type,omitempty" jsonschema:"The kind of sub-agent (default: the first in the list)"`
	Model       string `json:"model,omitempty" jsonschema:"A model to use instead of the default of this kind"`
	Background  bool   `json:"run_in_background,omitempty" jsonschema:"Continue while it runs. You are notified when it ends."`
	Mode        string `json:"mode,omitempty" jsonschema:"A permission mode that is stricter than yours, such as plan"`
	Resume      string `json:"resume,omitempty" jsonschema:"The id of a sub-agent that has ended, to continue its conversation"`
}

// teammateInput is agentInput for agents that can start teammates.
type teammateInput struct {
	agentInput
	Name string `json:"name,omitempty" jsonschema:"Starts a teammate with this name. It stays alive after its task, notifies you when it is idle, and receives messages through SendMessage."`
	Team string `json:"team_name,omitempty" jsonschema:"The team to join. Requires name."`
}

const agentDescription = "Gives a task to a sub-agent. It works in its own conversation and answers with one message. " +
	"Several calls in one answer run in parallel. Kinds:"

// NewSubagents returns sub-agents for [Options].Subagents. Their tool is [Subagents.Tool].
func NewSubagents(o *SubagentOptions) (*Subagents, error) {
	s := &Subagents{changed: make(chan struct{})}
	if o != nil {
		s.o = *o
	}
	if s.o.Limit <= 0 {
		s.o.Limit = maxParallel
	}
	s.slots = make(chan struct{}, s.o.Limit)
	s.o.Definitions = slices.Clone(s.o.Definitions)
	if len(s.o.Definitions) == 0 {
		s.o.Definitions = []Definition{GeneralPurpose}
	}
	spec := tool.Spec{Name: "Agent", Description: agentDescription, ReadOnly: true}
	for i, d := range s.o.Definitions {
		if err := d.check(); err != nil {
			return nil, fmt.Errorf("agent: %w", err)
		}
		if s.o.Tools == nil && (d.Isolation || len(d.Skills) > 0 || len(d.Servers) > 0 || d.Memory != "") {
			return nil, fmt.Errorf("agent: sub-agent %s needs a worktree, skills, MCP servers or memory; hint: set SubagentOptions.Tools", d.Name)
		}
		if slices.ContainsFunc(s.o.Definitions[:i], func(e Definition) bool { return e.Name == d.Name }) {
			return nil, fmt.Errorf("agent: duplicate sub-agent %q", d.Name)
		}
		spec.Description += fmt.Sprintf("\n- %s: %s", d.Name, d.Description)
	}
	t, err := s.make(spec)
	s.tool = backgroundableTool{t, s}
	return s, err
}

func (s *Subagents) make(spec tool.Spec) (tool.Tool, error) {
	if s.o.Named == nil {
		return tool.New(spec, s.run, s.requests)
	}
	return tool.New(spec, s.runNamed, func(c *tool.Call, in teammateInput) ([]policy.Request, error) {
		if in.Name != "" && (in.Resume != "" || in.Background) {
			return nil, errors.New("name cannot be combined with resume or run_in_background")
		}
		if in.Name == "" && in.Team != "" {
			return nil, errors.New("team_name requires name")
		}
		return s.requests(c, in.agentInput)
	})
}

// runNamed is like run, for calls that may name a teammate.
func (s *Subagents) runNamed(ctx context.Context, c *tool.Call, in teammateInput) (tool.Result, error) {
	if in.Name == "" {
		return s.run(ctx, c, in.agentInput)
	}
	d, err := s.find(in.agentInput)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	o := TeammateOptions{Name: in.Name, Kind: d, Title: in.Description, Mode: policy.Mode(in.Mode)}
	return s.o.Named(ctx, s, c, o, in.Team, in.Prompt)
}

func (d *Definition) check() error {
	switch {
	case d.Name == "":
		return errors.New("a sub-agent definition has no name")
	case strings.ContainsAny(d.Name, "()\n\r\t"):
		return fmt.Errorf("sub-agent name %q contains a parenthesis, tab or line break, which rules cannot match", d.Name)
	case d.Description == "":
		return fmt.Errorf("sub-agent %s has no description; hint: say when the model should use it", d.Name)
	case d.Mode != "":
		if err := d.Mode.Check(); err != nil {
			return fmt.Errorf("sub-agent %s: %w", d.Name, err)
		}
	}
	return nil
}

// Tool returns the tool that starts sub-agents. Sub-agents themselves do not get this tool.
func (s *Subagents) Tool() tool.Tool { return s.tool }

// Definitions returns the kinds of sub-agents, in order.
func (s *Subagents) Definitions() []Definition { return slices.Clone(s.o.Definitions) }

func (s *Subagents) bind(a *Agent) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.a != nil {
		return errors.New("these Subagents already belong to another agent; hint: create one per agent")
	}
	s.a = a
	return nil
}

// Agent returns the parent of the sub-agents, or nil.
func (s *Subagents) Agent() *Agent {
	a, err := s.parent()
	if err != nil {
		return nil
	}
	return a
}

// resumed calls the Resumed option.
func (s *Subagents) resumed(ctx context.Context) []string {
	if s == nil || s.o.Resumed == nil {
		return nil
	}
	return s.o.Resumed(ctx, s)
}

// parent returns the parent of the sub-agents.
func (s *Subagents) parent() (*Agent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.a == nil {
		return nil, errors.New("these Subagents belong to no agent; hint: set Options.Subagents")
	}
	return s.a, nil
}

// backgroundableTool is the tool whose calls can run as background tasks.
type backgroundableTool struct {
	tool.Tool
	s *Subagents
}

func (d backgroundableTool) Detach(c *tool.Call) time.Duration {
	var in teammateInput
	if json.Unmarshal(c.Input, &in) != nil || in.Name != "" {
		return -1
	}
	if def, err := d.s.find(in.agentInput); in.Background || err == nil && def.Background {
		return 0
	}
	return -1
}

// Awaited implements [tool.Detacher].
func (backgroundableTool) Awaited(*tool.Call) bool { return true }

// find returns the sub-agent definition that a call names.
func (s *Subagents) find(in agentInput) (Definition, error) {
	name := cmp.Or(in.Type, s.o.Definitions[0].Name)
	var names []string
	for _, d := range s.o.Definitions {
		if d.Name == name {
			d.Model = cmp.Or(in.Model, d.Model)
			return d, nil
		}
		names = append(names, d.Name)
	}
	return Definition{}, fmt.Errorf("unknown sub-agent kind %q; %s", name, spelling.Hint(name, names, "the kinds are"))
}

func (s *Subagents) requests(_ *tool.Call, in agentInput) ([]policy.Request, error) {
	d, err := s.find(in)
	switch {
	case err != nil:
		return nil, err
	case strings.TrimSpace(in.Prompt) == "":
		return nil, errors.New("prompt must not be empty")
	}
	if in.Mode != "" {
		if err := policy.Mode(in.Mode).Check(); err != nil {
			return nil, err
		}
	}
	return []policy.Request{{Resource: d.Name, ReadOnly: true}}, nil
}

// run gives a sub-agent its task and returns its answer.
func (s *Subagents) run(ctx context.Context, c *tool.Call, in agentInput) (out tool.Result, err error) {
	parent, err := s.parent()
	if err != nil {
		return tool.Result{}, err
	}
	d, err := s.find(in)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	free, err := s.acquireSlot(ctx)
	if err != nil {
		return tool.Result{}, err
	}
	defer free()
	child, with, err := s.newChild(ctx, parent, spawnParams{kind: d, title: in.Description, resume: in.Resume, use: c.ID, mode: policy.Mode(in.Mode)})
	if err != nil {
		return tool.Failure("cannot start the sub-agent: " + err.Error()), nil
	}
	end := child.Close
	defer func() {
		failed := end()
		if err == nil { // an error has no result, so the text cannot be added to one
			if text := with.OnEnd(context.WithoutCancel(ctx)); text != "" {
				out.Content = append(out.Content, transcript.Text{Text: text})
			}
			with.OnEnd = noRemains
		}
		if err := errors.Join(failed, with.close(context.WithoutCancel(ctx), parent)); err != nil {
			parent.Notice(fmt.Sprintf("cannot end sub-agent %s cleanly: %v", child.SessionID(), err))
		}
	}()
	res, err := s.work(ctx, parent, child, c.ID, in.Prompt)
	switch {
	case errors.Is(err, session.ErrBusy) && in.Resume != "":
		return tool.Failure("the sub-agent " + in.Resume + " is still running; wait until it ends"), nil
	case errors.Is(err, approval.ErrSuspend) && parent.isSuspended():
		end, with.OnEnd = child.Suspend, noRemains
		return suspendedResult(child.SessionID()), nil
	case err != nil:
		return tool.Result{}, err
	case ctx.Err() != nil:
		return tool.Result{}, context.Cause(ctx)
	}
	return answerOf(res, child), nil
}

// work runs the task of a sub-agent. While an approval request of the sub-agent is suspended, the
// call waits too; the sub-agent requests approval again when its parent runs again.
func (s *Subagents) work(ctx context.Context, parent, child *Agent, use, prompt string) (*event.Result, error) {
	input := []transcript.Part{transcript.Text{Text: prompt}}
	for {
		res, err := s.turn(ctx, parent, child, use, input)
		if !errors.Is(err, approval.ErrSuspend) {
			return res, err
		}
		select {
		case <-parent.suspendFor(err):
			input = nil
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (s *Subagents) turn(ctx context.Context, parent, child *Agent, use string, input []transcript.Part) (res *event.Result, err error) {
	for e, err := range child.Run(ctx, input...) {
		if err != nil {
			return nil, err
		}
		if r, ok := e.(event.Result); ok {
			res = &r
		}
		parent.queueEvent(event.SubagentEvent{Use: use, Session: child.SessionID(), Name: child.opt.AgentName, Event: e})
	}
	return res, nil
}

// suspendedResult returns the result of a call whose sub-agent was suspended with an open approval
// request.
func suspendedResult(id string) tool.Result {
	return tool.Failure("The session stopped while the sub-agent was waiting for approval. " +
		"[sub-agent " + id + ": pass this id as resume to continue it]")
}

// acquireSlot waits until one more sub-agent may run.
func (s *Subagents) acquireSlot(ctx context.Context) (free func(), err error) {
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// answerOf returns the result of a call from the result of its sub-agent's run.
func answerOf(r *event.Result, child *Agent) tool.Result {
	text := cmp.Or(r.Text, "(no text)")
	out := tool.Text(text)
	switch {
	case r.Reason == event.ReasonCompleted:
	case child.stoppedByUser():
		out = tool.Failure("The user stopped the sub-agent. Its output so far:\n" + text)
	default:
		why := string(r.Reason)
		if r.Err != nil {
			why += ": " + r.Err.Error()
		}
		out = tool.Failure("The sub-agent did not finish its task (" + why + "). Its output so far:\n" + text)
	}
	if id := child.SessionID(); id != "" {
		out.Content = append(out.Content, transcript.Text{Text: "[sub-agent " + id + ": pass this id as resume to continue it]"})
	}
	return out
}
