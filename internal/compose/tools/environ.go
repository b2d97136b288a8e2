package tools

import (
	"os"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/environ"
)

// environ returns the environment of the run; nil means the environment of this process.
func (b *Toolbox) environ() []string {
	if b.env == nil {
		return nil
	}
	return b.env.Commands
}

// commandEnviron returns the environment of commands. The parameter known contains the user's
// variables that commands may see; the parameter more contains variables from the settings. A
// variable in the settings overrides the user's.
func (b *Toolbox) commandEnviron() (known, more []string) {
	known = b.environ()
	if b.settings == nil || len(b.settings.Env) == 0 {
		return known, nil
	}
	if known == nil {
		known = os.Environ()
	}
	set := b.settings.Environ()
	known = slices.Concat(known, set)
	return environ.Last(known), slices.DeleteFunc(set, func(entry string) bool { return len(environ.ForSandbox([]string{entry})) > 0 })
}
