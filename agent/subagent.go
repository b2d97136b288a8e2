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

// Definition is a kind of sub-agent.
type Definition struct {
	Name        string // as the model asks for it, and rules name it: Agent(Name)
	Description string // when to use it, for the model
	Prompt      string // its system prompt
	// Tools are what it may use of its parent's; nil means all. Without takes some away.
	// mcp__SERVER and mcp__SERVER__* are all tools of an MCP server; in Without mcp__* are
	// those of all servers.
	Tools, DisallowedTools []string
	// ToolRules are rules, such as Bash(git diff:*): of the tools that they name only what they cover
	// may be called.
	ToolRules  []string
	Model      string      // "" or "inherit" is its parent's
	Mode       policy.Mode // "" is its parent's, than which it is never weaker
	MaxTurns   int         // model calls; 0, or more than its parent's, is its parent's
	Background bool        // its calls always go on in the background
	// Isolation has each work in a checkout of its own, Skills are what it has read when it
	// begins, Servers are MCP servers that it wants, of the run or of its own, and Memory says
	// whose a folder is that it keeps from session to session: user, project, local, or "" for
	// none. All of them are for [SubagentOptions].Tools to see to; without it they are refused.
	Isolation bool
	Skills    []string
	Servers   []string
	Memory    string
	Origin    string // where it was defined, for people
}

// GeneralPurpose is the definition of the sub-agent that is there when none is defined.
var GeneralPurpose = Definition{
	Name:        "general-purpose",
	Description: "Works on a task of several steps by itself, with the same tools, and reports what it found.",
	Prompt: "You are a sub-agent: another agent has given you a task, and reads your last message as its result. " +
		"Nobody answers questions on the way. Do the whole task, then report what you found or did, with the facts that the other one needs.",
}

// SubagentOptions adjusts [NewSubagents].
type SubagentOptions struct {
	// Definitions are the kinds; default [GeneralPurpose]. Two of one name are an error.
	Definitions []Definition
	// Model finds a model that a definition or a call names; nil: there is the parent's.
	Model func(name string) (model.Model, error)
	// Tools equips one sub-agent, before its definition narrows what it may use. Nil gives
	// it the tools of its parent, whose current directory and memory of what was read it
	// then shares.
	Tools func(ctx context.Context, w SubagentRequest) (SubagentSetup, error)
	// Limit is how many work at once; others wait. Default 10.
	Limit int
	// Named takes the calls that give the sub-agent a name, which is then one that lives
	// on ([Subagents.StartTeammate]). The options have what the call says of it: Name, Kind,
	// Title and Mode; team is that which it is to join, or "". Nil: the model cannot give
	// names.
	Named func(ctx context.Context, s *Subagents, c *tool.Call, o TeammateOptions, team, prompt string) (tool.Result, error)
	// Resumed is called when the agent goes on with a session: to hire again who lived on
	// in it. The texts are for people.
	Resumed func(ctx context.Context, s *Subagents) (notices []string)
}

// SubagentSetup is what a sub-agent works with.
type SubagentSetup struct {
	Tools         *tool.Registry
	ExtraTools    []tool.Tool            // that it has also where its definition's Tools do not name them
	Folder        string                 // of its own, see [policy.Guards.OwnFolder]; "" for none
	Background    *Background            // see [Options].Background; ends with it
	Return        func(dir string) error // see [Options].Return
	Instructions  Instructions           // see [Options].Instructions
	LoopObservers []LoopObserver
	// Enter is its option of that name.
	Enter func(ctx context.Context) (dir, told string, err error)
	// OnEnd is called when it has ended, before Close: what its parent's model is told of what
	// it leaves behind, or ""; may be nil.
	OnEnd func(ctx context.Context) string
	// OnLeaseLost is its option of that name.
	LeaseLost func(error)
	Close     func() error // called when it has ended; may be nil
}

// SubagentRequest is whom tools are made for.
type SubagentRequest struct {
	Definition Definition
	Name       string // of one that lives on, or ""
	Session    string // that it goes on with, or ""
	CWD        string // where that one was, or ""
}

// Subagents let one agent give work to others. Each has a session of its own, whose
// owner is the parent's, guards that are never weaker than the parent's, and spends from
// the parent's budget. It ends with the call that started it: that is its parent's turn,
// or its session when the call goes on in the background.
type Subagents struct {
	o     SubagentOptions
	tool  tool.Tool
	slots chan struct{}

	mu        sync.Mutex
	a         *Agent
	live      []*Agent // all that have begun, teammates too, and have not ended
	teammates []*Teammate
	changed   chan struct{} // closed when a teammate has begun to wait or has left, and replaced
	closed    bool
	leaving   bool // the teammates are gone on with later
}

type agentInput struct {
	Description string `json:"description" jsonschema:"The task in three to five words"`
	Prompt      string `json:"prompt" jsonschema:"The task, with all that is needed to do it: the sub-agent knows nothing of this conversation"`
	Type        string `json:"subagent_type,omitempty" jsonschema:"Which kind of sub-agent; the first one if not given"`
	Model       string `json:"model,omitempty" jsonschema:"Another model than the kind has"`
	Background  bool   `json:"run_in_background,omitempty" jsonschema:"Go on meanwhile; you are told when it has ended"`
	Mode        string `json:"mode,omitempty" jsonschema:"A permission mode that is stricter than yours, such as plan"`
	Resume      string `json:"resume,omitempty" jsonschema:"The id of a sub-agent that has ended, to go on with it"`
}

// teammateInput is agentInput where sub-agents can be given names.
type teammateInput struct {
	agentInput
	Name string `json:"name,omitempty" jsonschema:"Makes it a teammate, which lives on: it tells you when it has nothing to do, and SendMessage reaches it by this name"`
	Team string `json:"team_name,omitempty" jsonschema:"With name: the team that it joins"`
}

const agentDescription = "Gives a task to a sub-agent, which has a conversation of its own and answers with one message. " +
	"Several calls in one answer run side by side. Kinds:"

// NewSubagents returns sub-agents for [Options].Subagents, and their tool with
// [Subagents.Tool].
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
			return nil, fmt.Errorf("agent: the sub-agent %s wants a checkout of its own, skills, MCP servers or a memory, and nothing here gives it that", d.Name)
		}
		if slices.ContainsFunc(s.o.Definitions[:i], func(e Definition) bool { return e.Name == d.Name }) {
			return nil, fmt.Errorf("agent: two kinds of sub-agents are called %q", d.Name)
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
			return nil, errors.New("a teammate lives on by itself: leave resume and run_in_background out, or name")
		}
		if in.Name == "" && in.Team != "" {
			return nil, errors.New("team_name needs a name for the teammate")
		}
		return s.requests(c, in.agentInput)
	})
}

// runNamed is run for a call that may give a name.
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
		return errors.New("a sub-agent has no name")
	case strings.ContainsAny(d.Name, "()\n\r\t"):
		return fmt.Errorf("the name of a sub-agent, %q, cannot be put into a rule", d.Name)
	case d.Description == "":
		return fmt.Errorf("the sub-agent %s has no description: no model would know when to use it", d.Name)
	case d.Mode != "":
		if err := d.Mode.Check(); err != nil {
			return fmt.Errorf("the sub-agent %s: %w", d.Name, err)
		}
	}
	return nil
}

// Tool is the tool that gives work to sub-agents. It is part of no sub-agent's tools.
func (s *Subagents) Tool() tool.Tool { return s.tool }

// Definitions lists the kinds, in their order.
func (s *Subagents) Definitions() []Definition { return slices.Clone(s.o.Definitions) }

func (s *Subagents) bind(a *Agent) error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.a != nil {
		return errors.New("the sub-agents are another agent's")
	}
	s.a = a
	return nil
}

// Agent is the agent that they work for, or nil.
func (s *Subagents) Agent() *Agent {
	a, err := s.parent()
	if err != nil {
		return nil
	}
	return a
}

// resumed tells that the agent goes on with a session.
func (s *Subagents) resumed(ctx context.Context) []string {
	if s == nil || s.o.Resumed == nil {
		return nil
	}
	return s.o.Resumed(ctx, s)
}

// parent is the agent that they work for.
func (s *Subagents) parent() (*Agent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.a == nil {
		return nil, errors.New("no agent has these sub-agents: give them as its option Subagents")
	}
	return s.a, nil
}

// backgroundableTool is the tool whose calls go on in the background when they say so.
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

// find is the definition that a call asks for.
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
	return Definition{}, fmt.Errorf("there is no sub-agent of kind %q: %s", name, spelling.Hint(name, names, "there are"))
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

// run gives a sub-agent its task, and returns what it says in the end.
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
	child, with, err := s.child(ctx, parent, spawnParams{kind: d, title: in.Description, resume: in.Resume, use: c.ID, mode: policy.Mode(in.Mode)})
	if err != nil {
		return tool.Failure("the sub-agent could not be started: " + err.Error()), nil
	}
	end := child.Close
	defer func() {
		failed := end()
		if err == nil { // else there is no result that could say it
			if text := with.OnEnd(context.WithoutCancel(ctx)); text != "" {
				out.Content = append(out.Content, transcript.Text{Text: text})
			}
			with.OnEnd = nothingLeft
		}
		if err := errors.Join(failed, with.close(context.WithoutCancel(ctx), parent)); err != nil {
			parent.Notice(fmt.Sprintf("the sub-agent %s did not end well: %v", child.SessionID(), err))
		}
	}()
	res, err := s.work(ctx, parent, child, c.ID, in.Prompt)
	switch {
	case errors.Is(err, session.ErrBusy) && in.Resume != "":
		return tool.Failure("the sub-agent " + in.Resume + " still works: wait until it has ended"), nil
	case errors.Is(err, approval.ErrSuspend) && parent.isSuspended():
		end, with.OnEnd = child.Suspend, nothingLeft
		return isWaiting(child.SessionID()), nil
	case err != nil:
		return tool.Result{}, err
	case ctx.Err() != nil:
		return tool.Result{}, context.Cause(ctx)
	}
	return answerOf(res, child.SessionID()), nil
}

// work has a sub-agent do its task. While a question of it is left open, so is the call: it
// asks again when its parent runs again.
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
		parent.pass(event.SubagentEvent{Use: use, Session: child.SessionID(), Name: child.opt.AgentName, Event: e})
	}
	return res, nil
}

// isWaiting is what the parent's model reads of a sub-agent that was left with a question.
func isWaiting(id string) tool.Result {
	return tool.Failure("The sub-agent waits for an answer to a question of its own, and the session stopped meanwhile. " +
		"[sub-agent " + id + ": give this as resume to go on with it]")
}

// acquireSlot waits until one more may work.
func (s *Subagents) acquireSlot(ctx context.Context) (free func(), err error) {
	select {
	case s.slots <- struct{}{}:
		return func() { <-s.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// answerOf is what the parent's model reads of a sub-agent's run.
func answerOf(r *event.Result, id string) tool.Result {
	text := cmp.Or(r.Text, "(it said nothing)")
	out := tool.Text(text)
	if r.Reason != event.ReasonCompleted {
		why := string(r.Reason)
		if r.Err != nil {
			why += ": " + r.Err.Error()
		}
		out = tool.Failure("The sub-agent did not finish (" + why + "). What it said so far:\n" + text)
	}
	if id != "" {
		out.Content = append(out.Content, transcript.Text{Text: "[sub-agent " + id + ": give this as resume to go on with it]"})
	}
	return out
}
