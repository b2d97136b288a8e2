package policy_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
	"github.com/holdfast-dev/holdfast/policy"
)

// lineEvaluator denies lines that run a program, and panics if there is no reading.
type lineEvaluator struct {
	denies string
	lines  int
	others int
}

func (j *lineEvaluator) Evaluate(policy.Request) policy.Verdict {
	j.others++
	return policy.Verdict{}
}

func (j *lineEvaluator) EvaluateLine(r policy.Request, reading *shellparse.Reading, o *shellparse.Options) policy.Verdict {
	j.lines++
	if o.Dir != r.Cwd || o.Home != "/home/me" {
		panic("the options are not those of the reading")
	}
	for _, c := range reading.Commands {
		if c.Name == j.denies {
			return policy.Verdict{Effect: policy.Deny, Reason: "it runs " + c.Name}
		}
	}
	return policy.Verdict{Effect: "rubbish"}
}

func TestLineJudge(t *testing.T) {
	j := &lineEvaluator{denies: "rm"}
	g, err := policy.New(&policy.Config{
		Mode: policy.ModeBypass, Limits: []policy.NamedPolicy{{Name: "lines", Policy: j}}, Folders: []string{"/p"}, Home: "/home/me",
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		request       policy.Request
		effect        policy.Effect
		lines, others int
	}{
		{policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: "ls; $(rm x)", Cwd: "/p"}, policy.Deny, 1, 0},
		{policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: "ls", Cwd: "/p"}, policy.Deny, 2, 0}, // rubbish denies
		{policy.Request{Tool: "Bash", Operation: policy.OpRead, Resource: "/p/a", Cwd: "/p"}, policy.Allow, 2, 1},
	} {
		d := g.Guard("Bash").Judge(t.Context(), []policy.Request{tt.request}, nil)
		if d.Effect != tt.effect || j.lines != tt.lines || j.others != tt.others {
			t.Errorf("%s: %s (%s), asked %d times about lines and %d times about others", tt.request.Resource, d.Effect, d.Reason, j.lines, j.others)
		}
	}
}
