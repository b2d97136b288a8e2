package policy

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/environ"
)

// setsDanger reports whether one of the names is dangerous.
func setsDanger(names []string) bool { return slices.ContainsFunc(names, environ.Dangerous) }
