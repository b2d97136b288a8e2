package policy

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/environ"
)

// setsDangerous reports whether one of the names is dangerous.
func setsDangerous(names []string) bool { return slices.ContainsFunc(names, environ.Dangerous) }
