package doctor

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

func TestExamine(t *testing.T) {
	dir := t.TempDir()
	e := &env.Env{Vars: []string{"HOME=" + dir, "HOLDFAST_HOME=" + filepath.Join(dir, "home"), "PATH=" + os.Getenv("PATH")}}
	r := Examine(t.Context(), e, &Options{Cwd: dir})
	for _, name := range []string{"home", "store", "fsync", "space", "project", "shell", "rg", "git", "key", "model", sandboxCheck, "engine"} {
		if !slices.ContainsFunc(r.Checks, func(c Check) bool { return c.Name == name }) {
			t.Errorf("there is no check %q", name)
		}
	}
	for _, c := range r.Checks {
		if (c.Name == "key" || c.Name == "model") && c.State != "warn" {
			t.Errorf("without a key: %+v", c)
		}
		if c.State != "ok" && c.State != "warn" && c.State != "fail" || c.Detail == "" {
			t.Errorf("%+v", c)
		}
	}
	left, err := os.ReadDir(dir)
	if err != nil || slices.ContainsFunc(left, func(d os.DirEntry) bool { return d.Name() != "home" && d.Name() != ".holdfast" }) {
		t.Errorf("unexpected files: %v, %v", left, err)
	}
	e.Vars = append(e.Vars, "HOLDFAST_MODEL=ollama/x")
	for _, c := range Examine(t.Context(), e, &Options{Cwd: dir}).Checks {
		if (c.Name == "key" || c.Name == "model") && c.State != "ok" {
			t.Errorf("a model that needs no key: %+v", c)
		}
	}
	r = Examine(t.Context(), e, &Options{Store: "nothing", Cwd: filepath.Join(dir, "missing")})
	if r.OK || r.Outcome() != outcome.Failed {
		t.Errorf("%+v", r)
	}
}

// A failed sandbox check sets the outcome only if no other check failed.
func TestOutcome(t *testing.T) {
	for _, tt := range []struct {
		checks []Check
		want   outcome.Outcome
	}{
		{nil, outcome.OK},
		{[]Check{{Name: "space", State: "warn"}}, outcome.OK},
		{[]Check{{Name: sandboxCheck, State: "fail"}}, outcome.Sandbox},
		{[]Check{{Name: sandboxCheck, State: "fail"}, {Name: "home", State: "fail"}}, outcome.Failed},
	} {
		if got := (&Report{Checks: tt.checks}).Outcome(); got != tt.want {
			t.Errorf("%+v: %+v", tt.checks, got)
		}
	}
}
