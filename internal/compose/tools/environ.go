package tools

import (
	"os"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/environ"
)

// environ is the environment of whom the run is for; nil is our own.
func (b *Toolbox) environ() []string {
	if b.env == nil {
		return nil
	}
	return b.env.Commands
}

// commandEnviron is the environment of commands: known is what they may know of the person's,
// and more what settings add to that. A variable of the settings goes before the person's.
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
