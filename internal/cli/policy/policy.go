// Package policy is `holdfast policy`: show, explain, test and check the permission policy.
package policy

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/tools"
	"github.com/holdfast-dev/holdfast/internal/policycheck"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// Command makes `holdfast policy`.
func Command(p *command.Program) *command.Command {
	return p.Group("policy", "Show, explain, test and check the permission policy.",
		p.Command(&showCmd{}, "show", "Show the mode, the rules with where they were written, the limits, and each tool's chain."),
		p.Command(&explainCmd{}, "explain", "Say what would become of one tool call, and why."),
		p.Command(&testCmd{}, "test", "Run tables of calls and what is to become of them."),
		p.Command(&lintCmd{}, "lint", "Find rules and settings that cannot work."),
		p.Command(&checkCmd{}, "check", "Judge many calls, one JSON object per line."),
		p.Command(&replayCmd{}, "replay", "Judge a past session by today's policy and say what would differ."),
		p.Command(&modeCmd{}, "mode", "Change the permission mode of a session, also while it runs."),
		p.Command(&grantsCmd{}, "grants", "List or revoke what people decided for a session."),
	)
}

// judgeOf judges tool calls by settings in this program's environment.
func judgeOf(p *command.Program, s *settings.Settings) *policycheck.Judge {
	return policycheck.New(s, p.UserHome(), p.Getenv(tools.EnvSearchURL))
}
