package sandbox

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
	"github.com/holdfast-dev/holdfast/policy"
)

// A reading is used only if it was made with the values that the checker itself has.
func TestEvaluateLine(t *testing.T) {
	other := shellparse.Parse("ls", nil) // not from the line: shows whether the reading is used
	for _, tt := range []struct {
		name  string
		known shellparse.Options
		cwd   string
		used  bool
	}{
		{"another home", shellparse.Options{Dir: "/", Home: "/home/v"}, "/", false},
		{"another folder", shellparse.Options{Dir: "/x", Home: "/home/u"}, "/", false},
		{"no folder", shellparse.Options{Home: "/home/u"}, "/", false},
		{"variables", shellparse.Options{Dir: "/", Home: "/home/u", Vars: map[string]string{"A": "b"}}, "/", false},
		{"the same", shellparse.Options{Dir: "/", Home: "/home/u"}, "/", true},
	} {
		c, err := NewChecker(&Settings{DeniedCommands: []string{"rm"}, DeniedPaths: []string{"/nowhere"}}, &Options{Home: "/home/u"})
		if err != nil {
			t.Fatal(err)
		}
		r := policy.Request{Operation: policy.OpCommand, Resource: "rm x", Cwd: tt.cwd}
		if v := c.EvaluateLine(r, other, &tt.known); (v.Effect == policy.NoOpinion) != tt.used {
			t.Errorf("%s: %q %s", tt.name, v.Effect, v.Reason)
		}
		if got, want := c.EvaluateLine(r, shellparse.Parse(r.Resource, &tt.known), &tt.known), c.Evaluate(r); got.Effect != want.Effect || got.Reason != want.Reason {
			t.Errorf("%s: %+v, and read by itself %+v", tt.name, got, want)
		}
	}
}
