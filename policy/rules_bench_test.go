package policy

import (
	"fmt"
	"testing"
)

// rulesForBench returns n rules of all kinds; the last one allows.
func rulesForBench(b *testing.B, n int) *Rules {
	b.Helper()
	list := make([]RuleSource, 0, n)
	for i := range n - 1 {
		var s RuleSource
		switch i % 8 {
		case 0:
			s = RuleSource{Effect: Deny, Text: fmt.Sprintf("Bash(program%d:*)", i)}
		case 1:
			s = RuleSource{Effect: Allow, Text: fmt.Sprintf("Bash(npm run task%d:*)", i)}
		case 2:
			s = RuleSource{Effect: Deny, Text: fmt.Sprintf("Read(//srv/secret%d/**)", i)}
		case 3:
			s = RuleSource{Effect: Allow, Text: fmt.Sprintf("Edit(src/part%d/**)", i)}
		case 4:
			s = RuleSource{Effect: Ask, Text: fmt.Sprintf("Bash(git * branch%d)", i)}
		case 5:
			s = RuleSource{Effect: Allow, Text: fmt.Sprintf("WebFetch(domain:*.host%d.org)", i)}
		case 6:
			s = RuleSource{Effect: Deny, Text: fmt.Sprintf("mcp__server%d__delete*", i)}
		case 7:
			s = RuleSource{Effect: Deny, Text: fmt.Sprintf("Read(secret%d.env)", i)}
		}
		list = append(list, s)
	}
	list = append(list, RuleSource{Effect: Allow, Text: "Bash(git log:*)"})
	r, _, err := RuleOptions{Home: "/home/u", Cwd: "/w"}.Compile(list)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

const benchLine = "git log --oneline --graph --decorate --since=2025-01-01 --until=2025-12-31 -- src/server/handler.go"

// Only the rules: the command is already parsed, as in a guard, which parses it once for all links.
func BenchmarkRules(b *testing.B) {
	for _, n := range []int{20, 200, 2000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			r := rulesForBench(b, n)
			s := newRequestView(bash(benchLine), "/home/u", nil)
			if v := r.judge(s); v.Effect != Allow {
				b.Fatalf("%+v", v)
			}
			b.ReportAllocs()
			for b.Loop() {
				r.judge(s)
			}
		})
	}
}

// Including parsing the command.
func BenchmarkRulesEvaluate(b *testing.B) {
	r := rulesForBench(b, 200)
	b.ReportAllocs()
	for b.Loop() {
		r.Evaluate(bash(benchLine))
	}
}

func BenchmarkRulesOnPaths(b *testing.B) {
	r := rulesForBench(b, 200)
	s := newRequestView(write("/w/src/part195/deep/below/file.go"), "/home/u", nil)
	if v := r.judge(s); v.Effect != Allow {
		b.Fatalf("%+v", v)
	}
	b.ReportAllocs()
	for b.Loop() {
		r.judge(s)
	}
}
