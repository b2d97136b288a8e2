package patterns

import (
	"slices"
	"testing"
)

func TestSplitRules(t *testing.T) {
	for text, want := range map[string][]string{
		"": nil, " , \t": nil, "Read": {"Read"}, "Read,Write": {"Read", "Write"}, " Read , Write ": {"Read", "Write"},
		"Bash(git log:*),Read": {"Bash(git log:*)", "Read"}, "Bash(a, b) Bash(c (d, e))": {"Bash(a, b)", "Bash(c (d, e))"},
		`Bash(echo \), x) Read`: {`Bash(echo \), x)`, "Read"}, "Bash(a": {"Bash(a"}, "Bash) , Read": {"Bash)", "Read"}, `Read \`: {"Read", `\`},
	} {
		if got := SplitRules(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
