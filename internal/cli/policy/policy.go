package policy

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/policycheck"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// judgeOf judges tool calls by settings in this program's environment.
func judgeOf(p *command.Program, s *settings.Settings) *policycheck.Judge {
	return policycheck.New(s, p.UserHome(), p.Getenv(tools.EnvSearchURL))
}
