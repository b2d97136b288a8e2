package instructions

import (
	"strings"
	"testing"
)

func FuzzIncludes(f *testing.F) {
	for _, in := range []string{"@a.md", "`@a` @b\\ c.md", "```\n@a\n```\n@b", "    @a\n\n    @b", "<!-- @a -->@b <!--", "(@x)", "``` `\n@y", "@@a @ @~/b,"} {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		for _, name := range includes(in) {
			if name == "" || strings.ContainsAny(name, "\n\r\x00") || len(name) > 1024 {
				t.Fatalf("%q", name)
			}
		}
	})
}
