package shellparse

import (
	"strings"
	"testing"
)

// Every row can be read, and every special that it names is there.
func TestTables(t *testing.T) {
	for name, p := range tables() {
		p.once.Do(p.compile)
		if name == "" || strings.ContainsAny(name, "\t\n") || strings.HasPrefix(name, " ") {
			t.Errorf("a row has the name %q", name)
		}
		argv := strings.Fields(name)
		inv := &invocation{name: argv[0], program: word{text: argv[0], static: true}}
		for _, a := range append(argv[1:], "a", "b", "c") {
			inv.args = append(inv.args, word{text: a, static: true})
		}
		effectsOf(inv)
	}
}
