package flags

import (
	"context"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/runspec"
)

// References are those of --env-from, by variable.
func (c *AgentFlags) References() (map[string]string, error) {
	var from map[string]string
	for _, pair := range c.EnvFrom {
		name, ref, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, outcome.Invalid("--env-from: "+pair+" is not NAME=REFERENCE", "--env-from ANTHROPIC_API_KEY=keyring:SERVICE/USER")
		}
		if from == nil {
			from = map[string]string{}
		}
		from[name] = ref
	}
	return from, (&runspec.Spec{Environment: runspec.Environment{From: from}}).Check()
}

// FetchHere adds the variables of --env-from to the program's environment.
func (c *AgentFlags) FetchHere(ctx context.Context, p *command.Program) error {
	from, err := c.References()
	if err != nil {
		return err
	}
	if len(from) == 0 {
		return nil
	}
	e := p.Environment()
	if err := e.Fetch(ctx, from); err != nil {
		return err
	}
	p.Env, p.CommandEnv = e.Vars, e.Commands
	return nil
}
