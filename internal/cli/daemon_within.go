package cli

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// notFromRun refuses what a run of this home's daemon would do to its own guards past
// the daemon, in the files. It keeps honest agents honest: what runs outside of the
// sandbox as the same account could write the files itself.
func notFromRun(p *command.Program, what string) error {
	home, err := p.Home()
	if err != nil {
		return err
	}
	info, running, err := listen.State(home)
	if err != nil || !running || !auth.Below(info.PID) {
		return err
	}
	return &outcome.Failure{Message: "an agent of this daemon cannot " + what, Result: outcome.Denied, Advice: "do it from a terminal of your own"}
}
