package shellparse

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/environ"
)

// A variable that keeps a command from being safe also keeps a rule from allowing
// it: the rules ask [environ.Dangerous].
func TestDangerousVariablesAreAlsoDangerousToRules(t *testing.T) {
	names := append([]string{"X_PAGER", "X_EDITOR", "X_ASKPASS", "GIT_X"}, dangerNames...)
	for _, p := range dangerPrefixes {
		if p == "NODE_" { // NODE_ENV is harmless to a rule: it is an everyday variable
			names = append(names, "NODE_OPTIONS", "NODE_PATH", "NODE_REPL_EXTERNAL_MODULE")
			continue
		}
		names = append(names, p, p+"X")
	}
	for _, name := range append(append(names, commandVars...), promptVars...) {
		if !environ.Dangerous(name) {
			t.Errorf("%s is dangerous here, and a rule for the command allows setting it", name)
		}
	}
}

// A variable whose value is a command line makes its command unsafe as well.
func TestCommandVariablesAreDangerous(t *testing.T) {
	for _, name := range append(append([]string{}, commandVars...), promptVars...) {
		if !isDangerous(name) {
			t.Errorf("%s runs a command, and is not dangerous", name)
		}
	}
	for _, name := range dangerNames {
		if strings.ToUpper(name) != name {
			t.Errorf("%s is not a name that programs read", name)
		}
	}
}
