package policy_test

import (
	"context"
	"fmt"

	"github.com/holdfast-dev/holdfast/policy"
)

func ExampleRuleOptions_Compile() {
	rules, _, err :=

		policy.RuleOptions{Cwd: "/w"}.Compile([]policy.RuleSource{
			{Effect: policy.Allow, Text: "Bash(git:*)", Layer: "user", File: "settings.json", Line: 3},
			{Effect: policy.Deny, Text: "Bash(git push:*)", Layer: "project", File: ".holdfast/settings.json", Line: 4},
		})

	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range []string{"git status", "cd x && git push"} {
		v := rules.Evaluate(policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: line, Cwd: "/w"})
		fmt.Println(v.Effect, "-", v.Reason)
	}
	// Output:
	// allow - rule Bash(git:*) of settings.json:3 allows it
	// deny - rule Bash(git push:*) of .holdfast/settings.json:4 denies it: git push
}

func ExampleRuleOptions_Lint() {
	for _, p := range (policy.RuleOptions{Cwd: "/w"}).Lint([]policy.RuleSource{
		{Effect: policy.Allow, Text: "Bash(rm -rf build)", File: "settings.json", Line: 2, Col: 5},
		{Effect: policy.Deny, Text: "Bash(rm:*)", File: "settings.json", Line: 3, Col: 5},
		{Effect: policy.Deny, Text: "Bash(curl", File: "settings.json", Line: 4, Col: 5},
	}, []string{"Bash", "Read"}) {
		fmt.Println(p)
	}
	// Output:
	// settings.json:2:5: rule "Bash(rm -rf build)": it can never matter: the deny rule Bash(rm:*) of settings.json:3 comes first; hint: remove one of them
	// settings.json:4:5: rule "Bash(curl": the parentheses are not balanced; hint: close the rule with ")", and write a literal parenthesis as \( or \)
}

func ExampleToolNames_Allow() {
	p, err := policy.ToolNames{"Read", "Glob", "Grep"}.Allow()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Evaluate(policy.Request{Tool: "Read"}).Effect, p.Evaluate(policy.Request{Tool: "Bash"}).Effect)
	// Output: allow deny
}

func ExampleToolNames_Deny() {
	p, err := policy.ToolNames{"Bash", "Write"}.Deny()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Evaluate(policy.Request{Tool: "Bash"}).Reason)
	fmt.Printf("%q\n", p.Evaluate(policy.Request{Tool: "Read"}).Effect)
	// Output:
	// Tool "Bash" is denied
	// ""
}

func ExamplePathRules_ForbidPolicy() {
	p, err := policy.PathRules{Deny: []string{".git/**", "**/.env*", "**/*.key"}, Cwd: "/w", Home: "/home/u"}.ForbidPolicy()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Evaluate(policy.Request{Tool: "Read", Operation: policy.OpRead, Resource: "/w/a/.env.local"}).Reason)
	// Output: touching /w/a/.env.local is forbidden by **/.env*
}

func ExamplePathRules_ReadPolicy() {
	p, err := policy.PathRules{Allow: []string{"src/**"}, Deny: []string{"src/gen/**"}, Default: policy.Ask, Cwd: "/w"}.ReadPolicy()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range []string{"/w/src/a.go", "/w/src/gen/a.go", "/w/b.go"} {
		fmt.Println(p.Evaluate(policy.Request{Tool: "Read", Operation: policy.OpRead, Resource: path}).Effect)
	}
	// Output:
	// allow
	// deny
	// ask
}

func ExamplePathRules_WritePolicy() {
	p, err := policy.PathRules{Deny: []string{"**/*.lock"}, Cwd: "/w"}.WritePolicy()
	if err != nil {
		fmt.Println(err)
		return
	}
	r := policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: "echo x > go.lock", Cwd: "/w"}
	fmt.Println(p.Evaluate(r).Reason)
	// Output: writing /w/go.lock is forbidden by **/*.lock
}

func ExampleCommandLists_Policy() {
	p, err := policy.CommandLists{Deny: []string{"rm", "git push:*"}, Allow: []string{"git:*"}}.Policy()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, line := range []string{"git log", "git -C x push", "sudo rm x"} {
		fmt.Println(p.Evaluate(policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: line, Cwd: "/w"}).Effect)
	}
	// Output:
	// allow
	// deny
	// deny
}

func ExampleComposite_CanUse() {
	denied, err := policy.ToolNames{"Bash"}.Deny()
	if err != nil {
		fmt.Println(err)
		return
	}
	callback := policy.Composite{denied}.CanUse
	for _, tool := range []string{"Bash", "Write"} {
		v, err := callback(context.Background(), policy.Request{Tool: tool})
		fmt.Println(v.Effect, err)
	}
	// Output:
	// deny <nil>
	// allow <nil>
}
