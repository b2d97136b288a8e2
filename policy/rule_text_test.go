package policy

import (
	"slices"
	"strings"
	"testing"
)

func TestParseRule(t *testing.T) {
	for _, c := range []struct {
		text, tool, spec string
		bare             bool
	}{
		{"Bash", "Bash", "", true},
		{" Bash ", "Bash", "", true},
		{"Bash(*)", "Bash", "", true},
		{"Bash( * )", "Bash", "", true},
		{"Bash(ls)", "Bash", "ls", false},
		{`Bash(echo \))`, "Bash", `echo \)`, false},
		{`Bash(echo \()`, "Bash", `echo \(`, false},
		{"Bash(f(x) (y))", "Bash", "f(x) (y)", false},
		{"mcp__a-b.c__*", "mcp__a-b.c__*", "", true},
	} {
		got, m := parseRule(c.text)
		if m != nil || got.tool != c.tool || got.spec != c.spec || got.bare != c.bare {
			t.Errorf("%q: %+v %v", c.text, got, m)
		}
	}
}

func TestUnescape(t *testing.T) {
	for text, want := range map[string][]string{
		"":        {""},
		"a":       {"a"},
		"*":       {"", ""},
		"a*b":     {"a", "b"},
		`a\*b`:    {"a*b"},
		`a\\*`:    {`a\`, ""},
		`\(\)\:`:  {"():"},
		`\;`:      {`\;`},
		`a\`:      {`a\`},
		`a**b`:    {"a", "", "b"},
		`"\n"`:    {`"\n"`},
		`x\\\*\\`: {`x\*\`},
	} {
		if got := unescape(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestNamePatterns(t *testing.T) {
	for _, c := range []struct{ pattern, yes, no string }{
		{"Read", "Read", "read Reader mcp__Read"},
		{"mcp__s", "mcp__s mcp__s__t", "mcp__s2__t mcp__s_t"},
		{"mcp__s__*", "mcp__s__t mcp__s__", "mcp__s mcp__s2__t"},
		{"mcp__s__t", "mcp__s__t", "mcp__s__t2 mcp__s"},
		{"*", "Read x", ""},
		{"*Edit", "Edit MultiEdit", "Edits"},
		{"a*b*c", "abc axbxc abbc", "ab acb"},
		{"Task", "Agent", "Task2"},
	} {
		p, m := newNamePattern(c.pattern)
		if m != nil {
			t.Error(m)
			continue
		}
		for name := range strings.FieldsSeq(c.yes) {
			if !p.match(name) {
				t.Errorf("%s does not match %s", c.pattern, name)
			}
		}
		for name := range strings.FieldsSeq(c.no) {
			if p.match(name) {
				t.Errorf("%s matches %s", c.pattern, name)
			}
		}
	}
}

func TestMayAllow(t *testing.T) {
	for name, want := range map[string]bool{
		"Read": true, "mcp__s": true, "mcp__s__*": true, "mcp__s__get_*": true,
		"*": false, "R*": false, "mcp__*": false, "mcp__s*": false, "mcp__s*__t": false, "mcp____*": false,
	} {
		if got := mayAllow(name); got != want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func FuzzRule(f *testing.F) {
	for _, s := range []string{
		"Bash", "Bash(*)", "Bash(npm run test:*)", `Bash(echo \( \* \\)`, "Read(//etc/**)", "Edit(~/x)", "Edit(/x)", "Read(a/../b)",
		"WebFetch(domain:*.x.org)", "mcp__s", "mcp__s__*", "Agent(Explore)", "Tool(a:b*)", "Bash(rm", "Bash()", "*", "Bash(A=1 x:*)",
		"Read([a)", "Read({a,{b,c}})", "Bash(* * *:*)", "Bash(\xff)", "Write(**/**/**)",
	} {
		f.Add(s, "ls -la /w/a")
	}
	f.Fuzz(func(t *testing.T, text, subjectText string) {
		parsed, m := parseRule(text)
		if m != nil {
			if m.what == "" {
				t.Errorf("%q is refused without a word", text)
			}
			return
		}
		again, m := parseRule(parsed.String())
		if m != nil || again != parsed {
			t.Fatalf("%q: %+v, then %+v %v", text, parsed, again, m)
		}
		requests := []Request{
			bash(subjectText), read(subjectText), write("/w/" + subjectText), fetch(subjectText),
			{Tool: parsed.tool, Resource: subjectText, Input: []byte(subjectText)},
		}
		o := RuleOptions{Home: "/home/u", Cwd: "/w"}
		forbids := map[Effect]bool{}
		for _, e := range []Effect{Deny, Ask, Allow} {
			rules, problems, err := o.Compile([]RuleSource{{Effect: e, Text: text}})
			forbids[e] = err == nil
			if err != nil {
				continue
			}
			if len(problems) > 0 && e != Allow {
				t.Fatalf("%q: a rule that forbids is ignored: %+v", text, problems)
			}
			for i := range requests {
				if v := rules.Evaluate(requests[i]); v.Effect != NoOpinion && v.Effect != e && (e != Deny || v.Effect != Ask) {
					t.Fatalf("the %s rule %q says %s", e, text, v.Effect)
				}
			}
		}
		if forbids[Deny] != forbids[Ask] {
			t.Fatalf("%q is read as deny %t, as ask %t", text, forbids[Deny], forbids[Ask])
		}
		o.Lint([]RuleSource{{Effect: Allow, Text: text}, {Effect: Deny, Text: text}}, []string{"Bash"})
	})
}

// An invisible character would keep a rule from matching what it seems to cover.
func TestInvisibleLetters(t *testing.T) {
	for _, text := range []string{
		"Bash(rm\u200b:*)", "Bash(rm\u00a0-rf:*)", "Read(\u202e.env)", "Read(.e\u00adnv)", "WebFetch(domain:a\u2060.org)", "Bash(rm\x7f)", "Read(a\r)", "\ufeffBash",
	} {
		if _, wrong := parseRule(text); wrong == nil {
			t.Errorf("%+q is taken", text)
		}
		if _, err := (CommandLists{Deny: []string{text}}).Policy(); err == nil {
			t.Errorf("%+q is taken as a command", text)
		}
	}
	for _, text := range []string{"Read(\u00e4\u65e5\U0001f600/**)", "Bash(a\tb)", "Bash(a\nb)"} {
		if _, wrong := parseRule(text); wrong != nil {
			t.Errorf("%+q is refused: %v", text, wrong)
		}
	}
}
