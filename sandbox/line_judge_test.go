package sandbox

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/shellread"
	"github.com/holdfast-dev/holdfast/policy"
)

// A reading is used only when it was made with what the checker knows itself.
func TestEvaluateLine(t *testing.T) {
	other := shellread.Parse("ls", nil) // not of the line: shows whether it is used
	for _, tt := range []struct {
		name  string
		known shellread.Options
		cwd   string
		used  bool
	}{
		{"another home", shellread.Options{Dir: "/", Home: "/home/v"}, "/", false},
		{"another folder", shellread.Options{Dir: "/x", Home: "/home/u"}, "/", false},
		{"no folder", shellread.Options{Home: "/home/u"}, "/", false},
		{"variables", shellread.Options{Dir: "/", Home: "/home/u", Vars: map[string]string{"A": "b"}}, "/", false},
		{"the same", shellread.Options{Dir: "/", Home: "/home/u"}, "/", true},
	} {
		c, err := NewChecker(&Settings{DeniedCommands: []string{"rm"}, DeniedPaths: []string{"/nowhere"}}, &Options{Home: "/home/u"})
		if err != nil {
			t.Fatal(err)
		}
		r := policy.Request{Operation: policy.OpCommand, Resource: "rm x", Cwd: tt.cwd}
		if v := c.EvaluateLine(r, other, &tt.known); (v.Effect == policy.None) != tt.used {
			t.Errorf("%s: %q %s", tt.name, v.Effect, v.Reason)
		}
		if got, want := c.EvaluateLine(r, shellread.Parse(r.Resource, &tt.known), &tt.known), c.Evaluate(r); got.Effect != want.Effect || got.Reason != want.Reason {
			t.Errorf("%s: %+v, and read by itself %+v", tt.name, got, want)
		}
	}
}
