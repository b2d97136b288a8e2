package policy_test

import (
	"fmt"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

// manyRules returns n rules in common forms.
func manyRules(b testing.TB, n int) *policy.Rules {
	b.Helper()
	var list []policy.RuleSource
	for i := range n {
		forms := []policy.RuleSource{
			{Effect: policy.Allow, Text: fmt.Sprintf("Bash(npm run task%d:*)", i)},
			{Effect: policy.Allow, Text: fmt.Sprintf("Bash(tool%d build)", i)},
			{Effect: policy.Deny, Text: fmt.Sprintf("Bash(danger%d:*)", i)},
			{Effect: policy.Ask, Text: fmt.Sprintf("Bash(git push origin%d *)", i)},
			{Effect: policy.Deny, Text: fmt.Sprintf("Read(//secret%d/**)", i)},
			{Effect: policy.Allow, Text: fmt.Sprintf("Edit(/src%d/**)", i)},
			{Effect: policy.Allow, Text: fmt.Sprintf("WebFetch(domain:d%d.org)", i)},
			{Effect: policy.Deny, Text: fmt.Sprintf("mcp__srv%d__delete", i)},
		}
		r := forms[i%len(forms)]
		r.Layer, r.Dir, r.File, r.Line = layernames.Project, "/p", "settings.json", i+1
		list = append(list, r)
	}
	rules, _, err := policy.RuleOptions{Home: "/home/me", Cwd: "/p"}.Compile(list)
	if err != nil {
		b.Fatal(err)
	}
	return rules
}

// Lines of 100 bytes: one command, and five.
const (
	oneCommand   = `go test ./policy/... ./approval/... -run TestJudge -count=1 -timeout 300s -coverprofile=cover.out -v`
	fiveCommands = `cd web && npm run build -- --mode production --verbose 2>&1 | tee -a build.log | tail -n 20 && ls -l`
)

func BenchmarkJudge(b *testing.B) {
	if len(oneCommand) != 100 || len(fiveCommands) != 100 {
		b.Fatalf("the lines have %d and %d bytes", len(oneCommand), len(fiveCommands))
	}
	for _, n := range []int{0, 20, 200, 2000} {
		g := newGuards(b, policy.Config{Folders: []string{"/p"}, Home: "/home/me", Rules: manyRules(b, n)})
		for name, r := range map[string]policy.Request{
			"command": {Tool: "Bash", Operation: policy.OpCommand, Resource: oneCommand, Cwd: "/p"},
			"five":    {Tool: "Bash", Operation: policy.OpCommand, Resource: fiveCommands, Cwd: "/p"},
			"short":   {Tool: "Bash", Operation: policy.OpCommand, Resource: "git status", Cwd: "/p"},
			"edit":    {Tool: "Edit", Operation: policy.OpWrite, Resource: "/p/web/main.go"},
		} {
			guard, requests := g.Guard(r.Tool), []policy.Request{r}
			b.Run(fmt.Sprintf("%s/rules=%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					guard.Judge(b.Context(), requests, nil)
				}
			})
		}
	}
}

// A decision about a command of 100 bytes with 200 rules must stay cheap.
func TestJudgeAllocations(t *testing.T) {
	g := newGuards(t, policy.Config{Folders: []string{"/p"}, Home: "/home/me", Rules: manyRules(t, 200)})
	guard := g.Guard("Bash")
	requests := []policy.Request{{Tool: "Bash", Operation: policy.OpCommand, Resource: oneCommand, Cwd: "/p"}}
	ctx := t.Context()
	if n := testing.AllocsPerRun(200, func() { guard.Judge(ctx, requests, nil) }); n > 40 {
		t.Errorf("%v allocations, at most 40 are allowed", n)
	}
}
