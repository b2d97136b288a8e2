package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

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
	Tools, Without []string
	Model          string      // "" or "inherit" is its parent's
	Mode           policy.Mode // "" is its parent's, than which it is never weaker
	MaxTurns       int         // model calls; 0 is no bound
	Background     bool        // its calls always go on in the background
	Origin         string      // where it was defined, for people
}

// Worker is the definition of the sub-agent that is there when none is defined.
var Worker = Definition{
	Name:        "general-purpose",
	Description: "Works on a task of several steps by itself, with the same tools, and reports what it found.",
	Prompt: "You are a sub-agent: another agent has given you a task, and reads your last message as its result. " +
		"Nobody answers questions on the way. Do the whole task, then report what you found or did, with the facts that the other one needs.",
}

// SubagentOptions adjusts [NewSubagents].
type SubagentOptions struct {
	// Definitions are the kinds; default [Worker]. Two of one name are an error.
	Definitions []Definition
	// Model finds a model that a definition or a call names; nil: there is the parent's.
	Model func(name string) (model.Model, error)
	// Tools makes the tools of one sub-agent before its definition narrows them; closed
	// when it has ended. Nil gives it those of its parent, whose current directory
	// and memory of what was read it then shares.
	Tools func(ctx context.Context, d Definition) (*tool.Registry, io.Closer, error)
}

// Subagents let one agent give work to others. Each has a session of its own, whose
// owner is the parent's, guards that are never weaker than the parent's, and spends from
// the parent's budget. It ends with the call that started it: that is its parent's turn,
// or its session when the call goes on in the background.
type Subagents struct {
	o    SubagentOptions
	tool tool.Tool

	mu sync.Mutex
	a  *Agent
}

type agentInput struct {
	Description string `json:"description" jsonschema:"The task in three to five words"`
	Prompt      string `json:"prompt" jsonschema:"The task, with all that is needed to do it: the sub-agent knows nothing of this conversation"`
	Type        string `json:"subagent_type,omitempty" jsonschema:"Which kind of sub-agent; the first one if not given"`
	Model       string `json:"model,omitempty" jsonschema:"Another model than the kind has"`
	Background  bool   `json:"run_in_background,omitempty" jsonschema:"Go on meanwhile; you are told when it has ended"`
	Resume      string `json:"resume,omitempty" jsonschema:"The id of a sub-agent that has ended, to go on with it"`
}

const aboutAgent = "Gives a task to a sub-agent, which has a conversation of its own and answers with one message. " +
	"Several calls in one answer run side by side. Kinds:"

// NewSubagents returns sub-agents for [Options].Subagents, and their tool with
// [Subagents.Tool].
func NewSubagents(o *SubagentOptions) (*Subagents, error) {
	s := &Subagents{}
	if o != nil {
		s.o = *o
	}
	s.o.Definitions = slices.Clone(s.o.Definitions)
	if len(s.o.Definitions) == 0 {
		s.o.Definitions = []Definition{Worker}
	}
	spec := tool.Spec{Name: "Agent", Description: aboutAgent, ReadOnly: true}
	for i, d := range s.o.Definitions {
		if err := d.check(); err != nil {
			return nil, fmt.Errorf("agent: %w", err)
		}
		if slices.ContainsFunc(s.o.Definitions[:i], func(e Definition) bool { return e.Name == d.Name }) {
			return nil, fmt.Errorf("agent: two kinds of sub-agents are called %q", d.Name)
		}
		spec.Description += fmt.Sprintf("\n- %s: %s", d.Name, d.Description)
	}
	t, err := tool.New(spec, s.run, s.requests)
	s.tool = detaching{t, s}
	return s, err
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
		if _, err := policy.ParseMode(string(d.Mode)); err != nil {
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

// parent is the agent that they work for.
func (s *Subagents) parent() (*Agent, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.a == nil {
		return nil, errors.New("no agent has these sub-agents: give them as its option Subagents")
	}
	return s.a, nil
}

// detaching is the tool whose calls go on in the background when they say so.
type detaching struct {
	tool.Tool
	s *Subagents
}

func (d detaching) Detach(c *tool.Call) time.Duration {
	var in agentInput
	if json.Unmarshal(c.Input, &in) != nil {
		return -1
	}
	if def, err := d.s.find(in); in.Background || err == nil && def.Background {
		return 0
	}
	return -1
}

// Awaited implements [tool.Awaited].
func (detaching) Awaited(*tool.Call) bool { return true }

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
	hint := "there are " + strings.Join(names, ", ")
	far := func(known string) int { return spelling.Edits(known, name[:min(len(name), 64)]) }
	if near := slices.MinFunc(names, func(a, b string) int { return far(a) - far(b) }); far(near) <= 3 {
		hint = "did you mean " + near + "?"
	}
	return Definition{}, fmt.Errorf("there is no sub-agent of kind %q: %s", name, hint)
}

func (s *Subagents) requests(_ *tool.Call, in agentInput) ([]policy.Request, error) {
	d, err := s.find(in)
	switch {
	case err != nil:
		return nil, err
	case strings.TrimSpace(in.Prompt) == "":
		return nil, errors.New("prompt must not be empty")
	}
	return []policy.Request{{Resource: d.Name, ReadOnly: true}}, nil
}

// run gives a sub-agent its task, and returns what it says in the end.
func (s *Subagents) run(ctx context.Context, c *tool.Call, in agentInput) (_ tool.Result, err error) {
	parent, err := s.parent()
	if err != nil {
		return tool.Result{}, err
	}
	d, err := s.find(in)
	if err != nil {
		return tool.Failure(err.Error()), nil
	}
	child, closer, err := s.child(ctx, parent, d, in)
	if err != nil {
		return tool.Failure("the sub-agent could not be started: " + err.Error()), nil
	}
	defer func() { err = errors.Join(err, child.Close(), closer.Close()) }()
	var res *Result
	for e, err := range child.Run(ctx, transcript.Text{Text: in.Prompt}) {
		if err != nil {
			return tool.Result{}, err
		}
		if r, ok := e.(Result); ok {
			res = &r
		}
		parent.pass(SubagentEvent{Use: c.ID, Session: child.SessionID(), Name: child.opt.Name, Event: e})
	}
	if ctx.Err() != nil {
		return tool.Result{}, context.Cause(ctx)
	}
	return answerOf(res, child.SessionID()), nil
}

// answerOf is what the parent's model reads of a sub-agent's run.
func answerOf(r *Result, id string) tool.Result {
	text := cmp.Or(r.Text, "(it said nothing)")
	out := tool.Text(text)
	if r.Reason != ReasonCompleted {
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

// child makes a sub-agent. It has not begun.
func (s *Subagents) child(ctx context.Context, p *Agent, d Definition, in agentInput) (*Agent, io.Closer, error) {
	m, err := s.model(p, d)
	if err != nil {
		return nil, nil, err
	}
	tools, closer, err := s.tools(ctx, p, d)
	if err != nil {
		return nil, nil, err
	}
	o, err := s.options(ctx, p, d, in)
	if err != nil {
		return nil, nil, errors.Join(err, closer.Close())
	}
	o.Tools = tools
	a, err := New(m, o)
	if err != nil {
		return nil, nil, errors.Join(err, closer.Close())
	}
	return a, closer, nil
}

func (s *Subagents) model(p *Agent, d Definition) (model.Model, error) {
	switch {
	case d.Model == "" || d.Model == "inherit" || d.Model == p.model.Info().Model:
		return p.model, nil
	case s.o.Model == nil:
		return nil, fmt.Errorf("model %s: there is only %s here", d.Model, p.model.Info().Model)
	}
	return s.o.Model(d.Model)
}

// open is a closer of nothing.
type open struct{}

func (open) Close() error { return nil }

func (s *Subagents) tools(ctx context.Context, p *Agent, d Definition) (*tool.Registry, io.Closer, error) {
	p.mu.Lock()
	all := p.tools
	p.mu.Unlock()
	var closer io.Closer = open{}
	if s.o.Tools != nil {
		var err error
		if all, closer, err = s.o.Tools(ctx, d); err != nil {
			return nil, nil, err
		}
		if closer == nil {
			closer = open{}
		}
	}
	if d.Tools != nil {
		all = all.Only(d.Tools...)
	}
	return all.Without(append([]string{s.tool.Spec().Name}, d.Without...)...), closer, nil
}

// options are the parent's, as far as they are a sub-agent's, too.
func (s *Subagents) options(ctx context.Context, p *Agent, d Definition, in agentInput) (*Options, error) {
	guards, err := p.guards.Child(d.Name, d.Mode)
	if err != nil {
		return nil, err
	}
	restore, err := p.childSession(ctx, in)
	if err != nil {
		return nil, err
	}
	o := &Options{
		Sessions: p.opt.Sessions, Session: restore, NoPersist: p.opt.NoPersist,
		System: d.Prompt, MaxTokens: p.opt.MaxTokens, Effort: p.opt.Effort,
		Guards: guards, Name: d.Name, Ask: p.opt.Ask, AskTimeout: p.opt.AskTimeout, Sandbox: p.opt.Sandbox, Profile: p.opt.Profile,
		Hooks: p.opt.Hooks, Mask: p.opt.Mask, MaxTurns: d.MaxTurns, Retry: p.opt.Retry, Compact: p.opt.Compact,
		Clock: p.opt.Clock, NewID: p.opt.NewID, Sleep: p.opt.Sleep, Rand: p.opt.Rand,
		parent: p, kind: d.Name,
	}
	if p.opt.Retry.Max == 0 { // filled: none
		o.Retry.Max = -1
	}
	return o, nil
}

// childSession is the session of a sub-agent: a new one, or the one that is gone on
// with, or a fork of it where it belongs to a session that this one was forked from.
func (a *Agent) childSession(ctx context.Context, in agentInput) (session.RestoreOptions, error) {
	opened := session.Opened{Owner: a.SessionID(), CWD: a.cwd(), Title: in.Description, User: a.opt.Session.Opened.User, Project: a.opt.Session.Opened.Project}
	r := session.RestoreOptions{Opened: opened}
	if in.Resume == "" || a.opt.Sessions == nil {
		if in.Resume != "" {
			return r, errors.New("resume: nothing is kept here")
		}
		return r, nil
	}
	m, err := a.opt.Sessions.Get(ctx, in.Resume)
	if err != nil {
		return r, fmt.Errorf("resume: %w", err)
	}
	r.SessionID, r.MustExist = m.ID, true
	for at := a.SessionID(); at != ""; {
		if at == m.Owner {
			r.Fork = at != a.SessionID()
			return r, nil
		}
		above, err := a.opt.Sessions.Get(ctx, at)
		if err != nil {
			return r, fmt.Errorf("resume: %w", err)
		}
		at = above.Parent
	}
	return r, fmt.Errorf("resume: %s is no sub-agent of this session", in.Resume)
}

// pass tells of what a sub-agent does, as far as there is room for it.
func (a *Agent) pass(e SubagentEvent) {
	switch e.Event.(type) {
	case TextDelta, ThinkingDelta, ToolInputDelta:
		return
	}
	a.mu.Lock()
	if len(a.untold) < maxUntold {
		a.untold = append(a.untold, e)
	}
	a.mu.Unlock()
	select {
	case a.bell <- struct{}{}:
	default:
	}
}

// maxUntold bounds what waits to be told of sub-agents while no turn runs.
const maxUntold = 4096
