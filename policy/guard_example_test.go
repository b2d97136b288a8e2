package policy_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/policy"
)

func ExampleNew() {
	rules, _, err :=

		policy.RuleOptions{Cwd: "/app"}.Compile([]policy.RuleSource{
			{Effect: policy.Allow, Text: "Bash(go test:*)", Layer: "project", File: ".holdfast/settings.json", Line: 3},
			{Effect: policy.Deny, Text: "Bash(git push:*)", Layer: "user", File: "settings.json", Line: 7},
		})

	if err != nil {
		fmt.Println(err)
		return
	}
	guards, err := policy.New(&policy.Config{Rules: rules, Folders: []string{"/app"}})
	if err != nil {
		fmt.Println(err)
		return
	}
	guard := guards.Guard("Bash")
	for _, line := range []string{"go test ./...", "go test ./... && git push", "make", "git status"} {
		d := guard.Judge(context.Background(), []policy.Request{
			{Tool: "Bash", Operation: policy.OpCommand, Resource: line, Cwd: "/app"},
		}, nil)
		fmt.Printf("%s: %s by %s\n", line, d.Effect, d.By)
	}
	// Output:
	// go test ./...: allow by rules
	// go test ./... && git push: deny by rules
	// make: ask by mode default
	// git status: allow by mode default
}

func ExampleGuard_Judge() {
	guards, _ := policy.New(&policy.Config{
		Mode:    policy.ModeAcceptEdits,
		Folders: []string{"/app"},
		CanUseTool: func(_ context.Context, r policy.Request) (policy.Verdict, error) {
			if r.Resource == "/app/go.mod" {
				return policy.Verdict{Effect: policy.Deny, Reason: "dependencies are changed by hand"}, nil
			}
			return policy.Verdict{}, nil // no opinion
		},
	})
	d := guards.Guard("Edit").Judge(context.Background(), []policy.Request{
		{Tool: "Edit", Operation: policy.OpWrite, Resource: "/app/main.go"},
		{Tool: "Edit", Operation: policy.OpWrite, Resource: "/app/go.mod"},
	}, nil)
	fmt.Println(d.Effect, d.By, d.Reason)
	for _, s := range d.Contributions {
		if s.Effect != policy.NoOpinion {
			fmt.Println(s.Resource, s.Policy, s.Effect)
		}
	}
	// Output:
	// deny canUseTool dependencies are changed by hand
	// /app/main.go mode acceptEdits allow
	// /app/go.mod canUseTool deny
	// /app/go.mod mode acceptEdits allow
}

func ExampleGuards_Check() {
	guards, _ := policy.New(&policy.Config{
		Folders: []string{"/app"},
		NewID:   func() string { return "g1" },
	})
	// The user answered "allow for this session".
	c, err := guards.Check(policy.Change{By: "ann", Grant: &policy.Grant{
		Effect: policy.Allow, Tool: "Edit", Operation: policy.OpWrite, Resource: "/app/main.go",
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	// … record the change here; apply it only after it is durable.
	if err := guards.Apply(c); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(c.Version, c.Grant.Name)
	d := guards.Guard("Edit").Judge(context.Background(), []policy.Request{
		{Tool: "Edit", Operation: policy.OpWrite, Resource: "/app/main.go"},
	}, nil)
	fmt.Println(d.Effect, d.By, d.Grant)
	// Output:
	// 1 session-allow-write-main-go
	// allow grants g1
}

func ExampleGuards_Child() {
	guards, _ := policy.New(&policy.Config{Mode: policy.ModeAcceptEdits})
	child, _ := guards.Child("reviewer", policy.ModeBypass)
	fmt.Println(child.Mode())
	_ = guards.Apply(policy.Change{Mode: policy.ModePlan})
	fmt.Println(child.Mode())
	// Output:
	// acceptEdits
	// plan
}

func ExampleGuards_Replay() {
	guards, _ := policy.New(nil)
	err := guards.Replay([]json.RawMessage{
		json.RawMessage(`{"mode":"plan","version":1}`),
		json.RawMessage(`{"grant":{"id":"g1","name":"session-deny-read--etc-x","effect":"deny","tool":"Read","operation":"fs.read","resource":"/etc/x","at":"2025-01-01T00:00:00Z"},"version":2}`),
	})
	fmt.Println(err, guards.Mode(), guards.Version(), len(guards.Grants()))
	// Output: <nil> plan 2 1
}

func ExampleGuard_Chain() {
	guards, _ := policy.New(&policy.Config{Folders: []string{"/app"}})
	_ = guards.Apply(policy.Change{Patch: &policy.Patch{Mode: "read", Allow: []string{"generated/**"}}})
	for _, l := range guards.Guard("read_file").Chain().Links {
		fmt.Printf("%s (%s): %q\n", l.Name, l.Stage, l.Detail)
	}
	// Output:
	// protected-paths (limits): ""
	// read-path-policy (policies): "allow generated/**"
	// mode default (mode): ""
}
