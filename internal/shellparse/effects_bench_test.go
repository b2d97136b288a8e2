package shellparse

import (
	"strings"
	"testing"
)

func BenchmarkEffects(b *testing.B) {
	for _, line := range []string{
		"git status",
		"go test -run TestX -count=1 ./policy/...",
		"grep -rn --include=*.go needle internal",
		"timeout -k 5 60 npm test",
		"frob --flag a/b c",
	} {
		argv := strings.Fields(line)
		inv := &invocation{name: argv[0], program: word{text: argv[0], static: true}}
		for _, a := range argv[1:] {
			inv.args = append(inv.args, word{text: a, static: true})
		}
		b.Run(argv[0], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				effectsOf(inv)
			}
		})
	}
}
