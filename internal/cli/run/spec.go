package run

import (
	"cmp"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Spec is the run that the flags describe, in a form that does not depend on this process. Its
// session is left for the caller, who knows which one is meant.
func (c *Cmd) Spec(p *command.Program, cwd string, input []transcript.Part) (runspec.Spec, error) {
	a, err := c.AgentSpec(p, cwd)
	if err != nil {
		return runspec.Spec{}, err
	}
	s := *a
	s.Model, s.Workspace = cmp.Or(c.Model, p.Getenv("HOLDFAST_MODEL")), c.Workspace
	s.Container = runspec.Container{Agent: c.Agent, Ephemeral: c.Ephemeral}
	s.Worktree = runspec.Worktree{Enabled: c.Worktree.wanted, Name: c.Worktree.name}
	if s.Workspace != "" { // its settings may name a model, and it has the folder
		s.Cwd, s.Model = "", c.Model
	}
	for _, part := range input {
		if text, ok := part.(transcript.Text); ok {
			s.Prompt += text.Text
		}
	}
	if s.Environment.From, err = c.References(); err != nil {
		return s, err
	}
	wd, err := p.Getwd()
	if err != nil {
		return s, err
	}
	return s, s.Resolve(wd)
}
