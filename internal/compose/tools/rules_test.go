package tools

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

func TestSplitRules(t *testing.T) {
	got, err := splitRules("--allowed-tools", []string{"Read Write", "Bash(git log:*)"})
	want := []settings.Flag{{Name: "--allowed-tools", Text: "Read"}, {Name: "--allowed-tools", Text: "Write"}, {Name: "--allowed-tools", Text: "Bash(git log:*)"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v %v", got, err)
	}
	for _, empty := range []string{"", " ", ",", " , "} {
		if _, err := splitRules("--allowed-tools", []string{"Read", empty}); outcome.FromError(err) != outcome.Usage {
			t.Errorf("%q: %v", empty, err)
		}
	}
}

func TestRuleTool(t *testing.T) {
	for _, tt := range []struct {
		rule, tool string
		bare       bool
	}{
		{"Bash", "Bash", true},
		{"Bash(*)", "Bash", true},
		{"Bash( * )", "Bash", true},
		{"Bash(rm:*)", "Bash", false},
		{"mcp__x__*", "mcp__x__*", true},
	} {
		if name, bare := RuleTool(tt.rule); name != tt.tool || bare != tt.bare {
			t.Errorf("%s: %s %v", tt.rule, name, bare)
		}
	}
}

func TestMatchName(t *testing.T) {
	for _, tt := range []struct {
		pattern, name string
		want          bool
	}{
		{"Bash", "Bash", true},
		{"Bash", "BashX", false},
		{"*", "Bash", true},
		{"B*", "Bash", true},
		{"*sh", "Bash", true},
		{"B*s*h", "Bash", true},
		{"Ba*ash", "Bash", false},
		{"mcp__*__x", "mcp__a__x", true},
		{"mcp__*__x", "mcp__a__y", false},
	} {
		if got := matchName(tt.pattern, tt.name); got != tt.want {
			t.Errorf("%s of %s: %v", tt.pattern, tt.name, got)
		}
	}
}

// Files are hidden from the search tools when a rule, a glob or a sandbox keeps
// them from being read, and when reading them would be asked about: a search is
// judged by its folder.
func TestHidden(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s, err := settings.Load(&settings.Options{Cwd: dir, FlagsOnly: true, Files: []string{`{
		"permissions": {"deny": ["Read(a)"], "ask": ["Read(b)"], "allow": ["Read(c)", "Read(known.pem)"], "forbidden": ["d"]},
		"sandbox": {"deniedPaths": ["` + dir + `/e"]}}`}})
	if err != nil {
		t.Fatal(err)
	}
	config, err := s.Policy()
	if err != nil {
		t.Fatal(err)
	}
	hide := hidden(s.Rules, &config)
	for name, want := range map[string]bool{"a": true, "b": true, "c": false, ".env": true, "secrets/x": true, "x.pem": true, "known.pem": false, "d": true, "e": true, "e/x": true, "f": false} {
		if got := hide(filepath.Join(dir, name)); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	ask, _, err := policy.RuleOptions{Cwd: "/w"}.Compile([]policy.RuleSource{{Effect: policy.Ask, Text: "Read"}})
	if err != nil {
		t.Fatal(err)
	}
	if hide := hidden(nil, &policy.Config{Rules: ask, Folders: []string{"/w"}}); hide("/w/a") || !hide("/w/.env") {
		t.Error("a question about every file, which the search asks itself, hides them")
	}
	if hide := hidden(nil, &policy.Config{Mode: policy.ModeBypass}); hide != nil {
		t.Error("nothing is denied, and every file is looked at")
	}
	if hide := hidden(nil, &policy.Config{}); hide("/w/a") || !hide("/w/id_rsa") {
		t.Error("a search shows a secret that reading would ask about")
	}
}
