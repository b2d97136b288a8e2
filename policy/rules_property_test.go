package policy

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Rules and commands that interact.
var (
	someRules = []string{
		"Bash", "Bash(git:*)", "Bash(git push:*)", "Bash(git push)", "Bash(ls*)", "Bash(* x)", "Bash(rm:*)", "Bash(make)", "Bash(echo:*)",
		"Edit", "Edit(src/**)", "Edit(*.go)", "Edit(//w/out)", "Read(.env)", "Read(src/**)", "Read", "Write(a)", "Glob(src/**)",
		"WebFetch", "WebFetch(domain:*.x.org)", "WebFetch(domain:x.org)", "mcp__s", "mcp__s__t", "mcp__s__*", "Agent(a*)", "Agent(model:b)",
	}
	someCommands = []string{
		"git push", "git -C d push x", "git status", "ls", "lsof", "rm x", "make", "make x", "echo a", "cat .env", "cat src/a", "A=1 make",
		"sudo rm x", "timeout 5 make", "echo a > out", "echo a > src/b", "$X y", "PATH=. make", "bash -c 'git push'", "true",
	}
	somePaths = []string{"/w/src/a", "/w/src/a.go", "/w/.env", "/w/out", "/w/a", "/v/a", "/w", ""}
)

func drawRules(t *rapid.T, label string) []string {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom([]string{"allow ", "ask ", "deny "}).Draw(t, "effect") + rapid.SampledFrom(someRules).Draw(t, "rule")
	}), 0, 6).Draw(t, label)
}

func drawRequest(t *rapid.T) Request {
	switch rapid.IntRange(0, 5).Draw(t, "kind") {
	case 0:
		return read(rapid.SampledFrom(somePaths).Draw(t, "path"))
	case 1:
		return write(rapid.SampledFrom(somePaths).Draw(t, "path"))
	case 2:
		return fetch(rapid.SampledFrom([]string{"x.org", "a.x.org", "y.org", ""}).Draw(t, "host"))
	case 3:
		return mcp(rapid.SampledFrom([]string{"mcp__s__t", "mcp__s__u", "mcp__r__t"}).Draw(t, "tool"))
	case 4:
		return input("Agent", rapid.SampledFrom([]string{`{"subagent_type":"ab"}`, `{"model":"b"}`, `{`, ``}).Draw(t, "input"))
	}
	return bash(strings.Join(rapid.SliceOfN(rapid.SampledFrom(someCommands), 1, 3).Draw(t, "commands"), rapid.SampledFrom([]string{" && ", "; ", " | ", "\n"}).Draw(t, "operator")))
}

func compileDrawn(t *rapid.T, lines []string) *Rules {
	r, _, err := RuleOptions{Home: "/home/u", Cwd: "/w"}.Compile(sources(lines...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOrderOfRulesDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := drawRules(t, "rules")
		request := drawRequest(t)
		shuffled := rapid.Permutation(lines).Draw(t, "shuffled")
		if a, b := compileDrawn(t, lines).Evaluate(request), compileDrawn(t, shuffled).Evaluate(request); a.Effect != b.Effect {
			t.Fatalf("%+v: %q says %+v, %q says %+v", request, lines, a, shuffled, b)
		}
	})
}

// One more deny or ask rule never makes the outcome weaker, and one more allow rule never changes a
// deny or an ask.
func TestMoreRulesNeverAllowDenied(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := drawRules(t, "rules")
		request := drawRequest(t)
		more := drawRules(t, "more")
		before := compileDrawn(t, lines).Evaluate(request)
		after := compileDrawn(t, append(append([]string{}, lines...), more...)).Evaluate(request)
		if effectOrder(before.Effect) >= effectOrder(Ask) && effectOrder(after.Effect) < effectOrder(before.Effect) {
			t.Fatalf("%+v: %q says %+v, and with %q %+v", request, lines, before, more, after)
		}
		if after.Effect == Allow && before.Effect != Allow && !strings.Contains(strings.Join(more, ""), "allow ") {
			t.Fatalf("%+v is allowed by rules that do not allow: %q", request, more)
		}
	})
}

// A line is at least as restricted as each of its commands, in every way of running it.
func TestLineDeniedByCommand(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := drawRules(t, "rules")
		command := rapid.SampledFrom(someCommands).Draw(t, "command")
		frames := []string{"true && %", "%; true", "(%)", "{ %; }", "! %", "if true; then %; fi", "for i in a; do %; done", "true | %", "% &", "x=$(%)", "f() { %; }; f"}
		if !strings.ContainsAny(command, "'>$=") { // words, which others may run
			frames = append(frames, "eval %", "sudo %", "env %", "timeout 5 %", "nice -n 3 %", "nohup %", "exec %", "command %", "watch %",
				"xargs %", "ssh h %", "sh -c '%'", "find . -exec % ';'", "docker exec c %", "echo | xargs -n 1 %")
		}
		frame := rapid.SampledFrom(frames).Draw(t, "frame")
		r := compileDrawn(t, lines)
		alone, framed := r.Evaluate(bash(command)), r.Evaluate(bash(strings.Replace(frame, "%", command, 1)))
		if effectOrder(alone.Effect) >= effectOrder(Ask) && effectOrder(framed.Effect) < effectOrder(alone.Effect) {
			t.Fatalf("%q: %s is %+v, and in %q it is %+v", lines, command, alone, frame, framed)
		}
		if framed.Effect == Allow && alone.Effect == NoOpinion {
			t.Fatalf("%q: %s is not allowed, and in %q it is: %s", lines, command, frame, framed.Reason)
		}
	})
}

// How a word is quoted makes no difference.
func TestQuotingMakesNoDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := drawRules(t, "rules")
		words := rapid.SampledFrom([][]string{{"git", "push"}, {"git", "push", "x"}, {"ls"}, {"rm", "x"}, {"make"}, {"make", "x"}, {"echo", "a"}, {"cat", ".env"}, {"lsof"}}).Draw(t, "words")
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = strings.Replace(rapid.SampledFrom([]string{"%", "'%'", `"%"`, `\%`, "$'%'", "''%"}).Draw(t, "quotes"), "%", w, 1)
		}
		r := compileDrawn(t, lines)
		plain, other := r.Evaluate(bash(strings.Join(words, " "))), r.Evaluate(bash(strings.Join(quoted, " ")))
		if plain.Effect != other.Effect {
			t.Fatalf("%q: %q is %+v, %q is %+v", lines, words, plain, quoted, other)
		}
	})
}

// The findings of Lint are correct: removing a rule that "can never matter" or that another one
// contains does not change any decision.
func TestLintRedundantRulesRemovable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := drawRules(t, "rules")
		request := drawRequest(t)
		list := sources(lines...)
		o := RuleOptions{Home: "/home/u", Cwd: "/w"}
		// A rule that matches less than its author may expect still has an effect.
		problems := slices.DeleteFunc(o.Lint(list, nil), func(p Problem) bool { return strings.HasSuffix(p.Detail, "without arguments") })
		if len(problems) == 0 {
			return
		}
		gone := problems[0].Rule.Line - 1
		rest := append(append([]string{}, lines[:gone]...), lines[gone+1:]...)
		if a, b := compileDrawn(t, lines).Evaluate(request), compileDrawn(t, rest).Evaluate(request); a.Effect != b.Effect {
			t.Fatalf("%+v: %q says %+v; without %q (%s) %+v", request, lines, a, lines[gone], problems[0], b)
		}
	})
}
