package shellparse

import (
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
)

type lists struct {
	Denied  []string `json:"deniedCommands"`
	Allowed []string `json:"allowedCommands"`
	Paths   []string `json:"deniedPaths"`
	Writes  []string `json:"allowedWritePaths"`
}

type ran struct {
	Command string `json:"command"`
	Cwd     string `json:"cwd"`
}

// TestCorpus reads the cases of the seeds' checker. What a checker makes of a
// reading is tested where the checker is; here the reading must give it what it
// needs.
func TestCorpus(t *testing.T) {
	cases := corpus.Area(t, "open-agent-sdk.json", "sandbox_bypass", "sandbox_benign", "sandbox_basename")
	corpus.Claim(t, cases, map[string]func(*testing.T, corpus.Case){
		"sandbox_bypass":   checkBypass,
		"sandbox_benign":   checkBenign,
		"sandbox_basename": checkBasename,
	}, nil)
}

func readCase(t *testing.T, c corpus.Case) (*Reading, lists) {
	t.Helper()
	var in ran
	var set lists
	c.Part(t, c.Input(), &in) // what a checker makes of it, and of its settings, is tried where the checker is
	c.Part(t, c.Settings(), &set)
	if in.Cwd == "" {
		in.Cwd = "/w"
	}
	return Parse(in.Command, &Options{Dir: in.Cwd, Home: "/home/u"}), set
}

func expect(t *testing.T, c corpus.Case) string {
	t.Helper()
	var want string
	c.Decode(t, c.Expect(), &want)
	return want
}

func checkBypass(t *testing.T, c corpus.Case) {
	r, set := readCase(t, c)
	if expect(t, c) != "deny" || len(r.Commands) == 0 && r.Static() {
		return // only isolation can know, or the case is about no command
	}
	found := !r.Static()
	for _, cmd := range r.Commands {
		found = found || slices.Contains(set.Denied, cmd.Name) || set.Allowed != nil && !slices.Contains(set.Allowed, cmd.Name)
		for _, p := range cmd.Paths {
			found = found || p.Path == "" && (set.Paths != nil || set.Writes != nil)
			found = found || slices.ContainsFunc(set.Paths, func(d string) bool { return under(d, p.Path) || p.Tree && under(p.Path, d) })
			if p.Access&Write != 0 && set.Writes != nil {
				found = found || !slices.ContainsFunc(set.Writes, func(w string) bool { return under(w, p.Path) })
			}
		}
		found = found || cmd.Opaque != "" && set.Writes != nil
	}
	if !found {
		t.Errorf("%s: nothing to deny it by in %s", c.Input(), dump(r))
	}
}

func checkBenign(t *testing.T, c corpus.Case) {
	r, set := readCase(t, c)
	if want := expect(t, c); want != "allow" {
		t.Fatalf("a shape of which a reader has no part: %s", want)
	}
	if !r.Static() {
		t.Errorf("%s is unclear: %q", c.Input(), r.Unclear)
	}
	for _, cmd := range r.Commands {
		if slices.Contains(set.Denied, cmd.Name) {
			t.Errorf("%s: has %s", c.Input(), cmd.Line)
		}
	}
}

func checkBasename(t *testing.T, c corpus.Case) {
	r, _ := readCase(t, c)
	got := ""
	if len(r.Commands) > 0 {
		got = r.Commands[0].Name
	}
	if want := expect(t, c); got != want {
		t.Errorf("%s: got %q, want %q", c.Input(), got, want)
	}
}
