package policy

import (
	"fmt"
	"strings"
	"testing"
)

var lintTools = []string{"Bash", "Read", "Edit", "Write", "Glob", "Grep", "WebFetch", "Agent", "mcp__git__log"}

func lint(lines ...string) []Problem {
	return RuleOptions{Home: "/home/u", Cwd: "/w"}.Lint(sources(lines...), lintTools)
}

func TestLint(t *testing.T) {
	for _, c := range []struct {
		rules string // separated by ";"
		want  string // "line: text" of each problem, separated by ";"
	}{
		// Valid rules.
		{"allow Bash(ls:*);deny Bash(rm:*);ask Edit(src/**);deny mcp__other;allow Task", ""},
		{"allow Bash(git:*);deny Bash(git push:*)", ""},
		{"allow Bash(git *);ask Bash(git push)", ""},
		{"allow Edit;deny Edit(src/**)", ""},
		{"deny Read(a/**);allow Read(b/**)", ""},
		{"allow WebFetch(domain:a.x.org);deny WebFetch(domain:*.a.x.org)", ""},
		{"allow Bash(make > log)", ""},
		{"deny Write;allow Write(src/**)", ""}, // the latter is about every tool that edits

		// Rejected rules.
		{"deny Bash(rm", "1! not balanced"},
		{"allow Read(x);deny Bash(command:x)", "2! are not supported"},

		// Rules without effect.
		{"deny Bsh(rm:*)", `1: unknown tool "Bsh"`},
		{"allow Zzz", `1: unknown tool "Zzz"`},
		{"deny Zzz*", `1: unknown tool "Zzz*"`},
		{"allow *", "1: never match"},
		{"allow Agent(model:opus)", ""},
		{"allow Bash(a && b:*)", "1: spans several"},
		{"deny Bash(rm);allow Bash(ls);ask Bash(make test)", "1: without arguments"},
		{"deny Read(/etc/passwd)", "1: its path is /p/etc/passwd"},

		// Rules that others shadow.
		{"allow Bash(git push:*);deny Bash(git:*)", "1: the deny rule Bash(git:*) of s.json:2 comes first"},
		{"allow Bash(git push);ask Bash(git *)", "1: the ask rule Bash(git *)"},
		{"deny Bash;allow Bash(ls:*)", "2: the deny rule Bash of"},
		{"deny *;allow mcp__git", "2: the deny rule * of"},
		{"deny mcp__*;allow mcp__git__*", "2: the deny rule mcp__*"},
		{"deny mcp__git;ask mcp__git__push", "2: the deny rule mcp__git"},
		{"ask Edit(src/a/**);deny Edit(src/**)", "1: the deny rule Edit(src/**)"},
		{"allow Edit(src/a);deny Read(src/**)", "1: the deny rule Read(src/**)"},
		{"deny WebFetch(domain:*.x.org);allow WebFetch(domain:a.x.org)", "2: the deny rule"},
		{"deny WebFetch;allow WebFetch(domain:a.x.org)", "2: the deny rule WebFetch"},
		{"deny Agent(a*);allow Agent(ab)", "2: the deny rule Agent(a*)"},
		{"deny D(a:*);ask D(a:b)", `1: unknown tool "D";2: unknown tool "D";2: the deny rule D(a:*)`},

		// Duplicates, and rules that cover less than another.
		{"deny Bash(rm:*);deny Bash(rm *)", "2: duplicates rule Bash(rm:*) of s.json:1"},
		{"allow Read(a);allow Read(a)", "2: duplicates"},
		{"deny Bash(rm -rf:*);deny Bash(rm:*)", "1: redundant with rule Bash(rm:*) of s.json:2"},
		{"allow Bash(ls);allow Bash", "1: redundant with rule Bash of"},
		{"allow Glob(g/**);allow Glob", "1: redundant with"},
	} {
		var got []string
		for _, p := range lint(strings.Split(c.rules, ";")...) {
			mark := ":"
			if p.Fatal {
				mark = "!"
			}
			got = append(got, fmt.Sprintf("%d%s %s", p.Rule.Line, mark, p.Detail))
		}
		var want []string
		if c.want != "" {
			want = strings.Split(c.want, ";")
		}
		if len(got) != len(want) {
			t.Errorf("%s:\n got %q\nwant %q", c.rules, got, want)
			continue
		}
		for i := range want {
			line, what, _ := strings.Cut(want[i], " ")
			if !strings.HasPrefix(got[i], line+" ") || !strings.Contains(got[i], what) {
				t.Errorf("%s: got %q, want %q", c.rules, got[i], want[i])
			}
		}
	}
}

func TestLintSuggestsNames(t *testing.T) {
	if p := lint("deny Bsh"); len(p) != 1 || p[0].Hint != "did you mean Bash?" {
		t.Errorf("%+v", p)
	}
	if p := (RuleOptions{}).Lint(sources("deny Bsh", "deny Bash"), nil); len(p) != 0 {
		t.Errorf("without a list of tools: %+v", p)
	}
}

func TestProblemsArePrinted(t *testing.T) {
	for _, c := range []struct {
		p    Problem
		want string
	}{
		{Problem{Rule: RuleSource{Text: "x"}, Detail: "w"}, `rule "x": w`},
		{Problem{Rule: RuleSource{Text: "x", File: "f"}, Detail: "w", Hint: "h"}, `f: rule "x": w; hint: h`},
		{Problem{Rule: RuleSource{Text: "x", File: "f", Line: 2}, Detail: "w"}, `f:2: rule "x": w`},
		{Problem{Rule: RuleSource{Text: "x", File: "f", Line: 2, Col: 3}, Detail: "w"}, `f:2:3: rule "x": w`},
	} {
		if got := c.p.String(); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

// A rule that covers another matches everything that the other matches.
func TestCoverageConservative(t *testing.T) {
	rules := []string{
		"Bash", "Bash(git:*)", "Bash(git push)", "Bash(git push:*)", "Bash(git*)", "Bash(* push)", "Bash(*)", "Bash(gi*)", "Bash(git * x)",
		"Edit", "Edit(src/**)", "Edit(src/a)", "Edit(*.go)", "Edit(**)", "Read(src/**)", "Read(//w/**)", "Read(src/*)", "Write", "*", "mcp__s", "mcp__s__*", "mcp__*",
		"WebFetch(domain:*.x.org)", "WebFetch(domain:x.org)", "WebFetch(domain:*)", "WebFetch",
	}
	requests := []Request{
		bash("git"), bash("git push"), bash("git push x"), bash("gitk"), bash("hub push"), bash("ls"), bash("echo > src/a"),
		write("/w/src/a"), write("/w/src/a/b.go"), write("/w/x/src/a"), write("/w/a.go"), write("/v/a.go"),
		read("/w/src/a"), read("/w/src/a/b.go"), read("/v/x"), read("/w/x"),
		mcp("mcp__s__t"), mcp("mcp__s"), mcp("mcp__s2__t"), fetch("x.org"), fetch("a.x.org"), fetch("a.b.x.org"), fetch("y.org"),
	}
	o := RuleOptions{Home: "/home/u", Cwd: "/w"}
	for _, effect := range []string{"deny ", "ask ", "allow "} {
		for _, wide := range rules {
			for _, narrow := range rules {
				list := sources("deny "+wide, effect+narrow)
				a, _, _ := newRules(list[0], &o)
				b, dead, _ := newRules(list[1], &o)
				if dead != nil || !coverAll(a, b) {
					continue
				}
				for _, r := range requests {
					certain := "deny " // an ask may be a doubt
					if effect == "allow " {
						certain = effect
					}
					if rulesOf(t, certain+narrow).Evaluate(r).Effect == Effect(strings.TrimSpace(certain)) && rulesOf(t, "deny "+wide).Evaluate(r).Effect != Deny {
						t.Errorf("deny %s is said to cover %s%s, and does not on %s %s", wide, effect, narrow, r.Tool, r.Resource)
					}
				}
			}
		}
	}
}
