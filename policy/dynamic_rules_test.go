package policy_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
)

func TestDynamicRules(t *testing.T) {
	late := &policy.DynamicRules{}
	g, err := policy.New(&policy.Config{
		Mode: policy.ModeBypass, Folders: []string{"/p"}, Limits: []policy.NamedPolicy{{Name: "changed settings", Policy: late}},
	})
	if err != nil {
		t.Fatal(err)
	}
	write := policy.Request{Tool: "Write", Operation: policy.OpWrite, Resource: "/p/keys/a"}
	bash := policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: "cat keys/a", Cwd: "/p"}
	judge := func(r policy.Request) policy.Effect {
		return g.Guard(r.Tool).Judge(t.Context(), []policy.Request{r}, nil).Effect
	}
	if judge(write) != policy.Allow || judge(bash) != policy.Allow {
		t.Fatal("without rules it has an opinion")
	}
	rules, _, err :=

		policy.RuleOptions{Cwd: "/p"}.Compile([]policy.RuleSource{
			{Effect: policy.Deny, Text: "Edit(keys/**)", File: "settings.json", Line: 3, Dir: "/p"},
			{Effect: policy.Deny, Text: "Read(keys/**)", Dir: "/p"},
			{Effect: policy.Allow, Text: "Bash", Dir: "/p"},
		})

	if err != nil {
		t.Fatal(err)
	}
	late.Set(rules)
	if judge(write) != policy.Deny || judge(bash) != policy.Deny {
		t.Error("they are not in force")
	}
	if v := late.Evaluate(policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: "ls", Cwd: "/p"}); v.Effect != "" {
		t.Errorf("an allow rule counts: %+v", v)
	}
	late.Set(nil)
	if judge(write) != policy.Allow {
		t.Error("they are still in force")
	}
}
