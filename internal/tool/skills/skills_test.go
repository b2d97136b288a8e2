package skills_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/tool/skills"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

func writeTree(t testing.TB, files map[string]string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if to, ok := strings.CutPrefix(text, "link:"); ok {
			err = os.Symlink(to, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func skillText(name, more string) string {
	return "---\nname: " + name + "\ndescription: About " + name + ".\n" + more + "---\nDo " + name + ".\n"
}

func names(list []*skills.Skill) (out []string) {
	for _, s := range list {
		out = append(out, s.Name)
	}
	return out
}

func TestDiscover(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"user/a/SKILL.md": skillText("a", ""), "user/b/SKILL.md": skillText("b", ""), "user/notes.txt": "no skill", "user/empty/x": "",
		"w/s/b/SKILL.md": skillText("b", "allowed-tools: Read, Bash(git diff:*) Grep\nmetadata:\n  x: 1\n"),
		"w/s/c/SKILL.md": skillText("other", ""), "w/s/out/SKILL.md": "link:../../../user/a/SKILL.md", "w/s/away": "link:../../user/a",
		"w/c/deploy.md": "Deploy $1 to $2.", "w/c/a.txt": "no command",
	})
	places := []skills.Location{
		{Dir: dir + "/none", Source: skills.User},
		{Dir: dir + "/user", Source: skills.User},
		{Dir: dir + "/w/s", Source: skills.Project, Root: dir + "/w"},
		{Dir: dir + "/w/c", Source: skills.Project, Root: dir + "/w", Commands: true},
	}
	set := skills.Discover(places)
	if got, want := names(set.Skills), []string{"a", "b", "deploy"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	b, _ := set.Find("b")
	if want := []string{"Read", "Bash(git diff:*)", "Grep"}; !slices.Equal(b.Allow, want) || b.Source != skills.Project || b.Line != 4 || b.File != dir+"/w/s/b/SKILL.md" {
		t.Errorf("%+v", b)
	}
	if len(set.Shadowed) != 1 || set.Shadowed[0].File != dir+"/user/b/SKILL.md" || set.Shadowed[0].Shadowed != b.File {
		t.Errorf("%+v", set.Shadowed)
	}
	var problems []string
	for _, p := range set.Problems {
		rel, _ := filepath.Rel(dir, p.File)
		problems = append(problems, fmt.Sprintf("%s:%d: %s", rel, p.Line, p.Detail))
	}
	want := []string{
		"w/s/away/SKILL.md:0: path escapes from parent",
		`w/s/c/SKILL.md:2: the name "other" differs from the folder's name, "c"`,
		"w/s/out/SKILL.md:0: path escapes from parent",
	}
	if diff := cmp.Diff(want, problems); diff != "" {
		t.Error(diff)
	}

	digest := set.Digest(places, skills.Project)
	if digest == "" || digest == set.Digest(places, skills.User) {
		t.Error(digest)
	}
	if err := os.WriteFile(dir+"/w/c/deploy.md", []byte("Destroy $1."), 0o644); err != nil {
		t.Fatal(err)
	}
	if again := skills.Discover(places).Digest(places, skills.Project); again == digest {
		t.Error("a command has changed and its digest has not")
	}
}

func TestCorpus(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "skills", "plugins"), map[string]func(*testing.T, corpus.Case){
		"ak-tool-010": corpus.Test(`{"given": {"state":"no skills"}, "when": ["list tools"], "expect": {"activate tool":"hidden"}}`, func(t *testing.T, _ corpus.Case) {
			for _, text := range []string{"", skillText("a", "disable-model-invocation: true\n")} {
				dir := writeTree(t, map[string]string{"a/SKILL.md": text})
				s, err := skills.New(skills.Discover([]skills.Location{{Dir: dir}}), nil)
				if err != nil || len(s.Tools()) != 0 {
					t.Errorf("%v, %v", s.Tools(), err)
				}
			}
		}),
		"ak-tool-011": corpus.Test(`{"given": {"state":"invalid SKILL.md next to a valid one"}, "when": ["discover"], "expect": {"valid":"found","invalid":"skipped (report it)"}}`, func(t *testing.T, _ corpus.Case) {
			dir := writeTree(t, map[string]string{"good/SKILL.md": skillText("good", ""), "bad/SKILL.md": "---\nname: bad\n---\nx"})
			set := skills.Discover([]skills.Location{{Dir: dir}})
			if got := names(set.Skills); !slices.Equal(got, []string{"good"}) || len(set.Problems) != 1 || set.Problems[0].File != dir+"/bad/SKILL.md" {
				t.Errorf("%q, %+v", got, set.Problems)
			}
		}),
		"ak-tool-013": corpus.Test(`{"given": {"state":"plugin with a skill symlink escaping its root"}, "when": ["load"], "expect": {"skill":"skipped"}}`, func(t *testing.T, _ corpus.Case) {
			dir := writeTree(t, map[string]string{"out/evil/SKILL.md": skillText("evil", ""), "p/skills/evil": "link:../../out/evil", "p/skills/ok/SKILL.md": skillText("ok", "")})
			set := skills.Discover([]skills.Location{{Dir: dir + "/p/skills", Root: dir + "/p"}})
			if got := names(set.Skills); !slices.Equal(got, []string{"ok"}) || len(set.Problems) != 1 {
				t.Errorf("%q, %+v", got, set.Problems)
			}
		}),
	}, nil)
}

func TestParse(t *testing.T) {
	const head = "---\nname: x\ndescription: d\n"
	for _, tt := range []struct{ text, want string }{
		{head + "---\nbody", ""},
		{head + "argument-hint: [a, b]\nwhen_to_use: now\nuser-invocable: false\nlicense: MIT\nallowed-tools: [Read, 'Edit(src/**)']\n---\nbody", ""},
		{head + "model: inherit\n---\nbody", ""},
		{"body", "1:1: the front matter is missing"},
		{"---\nname: x\n---\nbody", "2:1: description is missing"},
		{"---\ndescription: d\n---\nbody", "2:1: name is missing"},
		{"---\nname: X\ndescription: d\n---\nbody", `2:7: invalid name "X": want 1 to 64`},
		{"---\nname: a--b\ndescription: d\n---\nbody", `2:7: invalid name "a--b"`},
		{"---\nname: 5\ndescription: d\n---\nbody", "2:7: name must be a string, not 5"},
		{"---\nname: x\ndescription: " + strings.Repeat("é", 1025) + "\n---\nbody", "3:14: description has 1025 characters"},
		{"---\nname: x\ndescription: Use it: now\n---\nbody", ""},
		{"---\nname: x: y\ndescription: d\n---\nbody", "2:7: not YAML"},
		{head + "---\n", "no text after the front matter"},
		{head + "---\n" + strings.Repeat("x", skills.MaxBody+1), "larger than 100 KiB"},
		{head + "hooks: {}\n---\nbody", "4:1: hooks: define hooks in settings"},
		{head + "model: opus\n---\nbody", ""},
		{head + "alowed-tools: Read\n---\nbody", `4:1: unknown key "alowed-tools"`},
		{head + "disable-model-invocation: yes\n---\nbody", "4:27: disable-model-invocation must be true or false"},
		{head + "disable-model-invocation: true\nuser-invocable: false\n---\nbody", "neither the model nor the user"},
		{head + "---\nname: y\n", ""},
		{"---\nname: x\n", "1:1: the front matter does not end"},
	} {
		_, err := skills.Parse("/s/x/SKILL.md", []byte(tt.text))
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error()+" "+hint(err), tt.want)) {
			t.Errorf("%.80q: %v, want %q", tt.text, err, tt.want)
		}
	}
}

// What has no effect, and what allows nothing, is noted, and the skill is offered all the same.
func TestNotes(t *testing.T) {
	const head = "---\nname: x\ndescription: d\n"
	for text, want := range map[string]string{
		"allowed-tools: Read, Bash(git": `allowed-tools: Bash(git allows nothing: rule "Bash(git"`,
		"allowed-tools: bash":           "allowed-tools: bash allows nothing",
		"allowed-tools: '*'":            "allowed-tools: * allows nothing",
		"context: fork":                 "context has no effect: a skill runs in the agent",
		"effort: high":                  "effort has no effect",
		"arguments: [a, b]":             `"arguments" has no effect: unknown key`,
		"allowed-tools: []":             "",
	} {
		sk, err := skills.Parse("/s/x/SKILL.md", []byte(head+text+"\n---\nbody"))
		if err != nil || !strings.Contains(strings.Join(sk.Notes, "\n"), want) {
			t.Errorf("%s: %v %+v", text, err, sk)
		}
	}
}

// Commands in folders have the folders in their names.
func TestFolders(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"c/front/component.md": "Make $1.", "c/front/deep/x.md": "Deep.", "c/.git/no.md": "No.", "c/plain.md": "Plain.", "out/evil.md": "Evil.", "c/evil": "link:../out",
		"c/a/b/c/d/e/far.md": "Far.",
	})
	for _, root := range []string{"", dir} {
		places := []skills.Location{{Dir: dir + "/c", Root: root, Commands: true, Source: skills.Project}}
		set := skills.Discover(places)
		if got := names(set.Skills); !slices.Equal(got, []string{"front:component", "front:deep:x", "plain"}) || len(set.Problems) != 0 {
			t.Errorf("%q %+v", got, set.Problems)
		}
		sk, text, err := set.Expand("/front:component Button")
		if err != nil || sk == nil || !strings.Contains(text, "The user called the command /front:component.\n\nMake Button.") {
			t.Errorf("%+v %q %v", sk, text, err)
		}
		before := set.Digest(places, skills.Project)
		if err := os.WriteFile(dir+"/c/front/deep/x.md", []byte("Deeper."+root), 0o644); err != nil {
			t.Fatal(err)
		}
		if skills.Discover(places).Digest(places, skills.Project) == before {
			t.Error("a change in a folder is not seen")
		}
	}
}

func hint(err error) string {
	p, _ := errors.AsType[skills.Problem](err)
	return p.Hint
}

func call(t *testing.T, x tool.Tool, in map[string]string) tool.Result {
	t.Helper()
	raw, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	c := &tool.Call{ID: "1", Tool: "Skill", Input: raw}
	if _, err := x.Requests(c); err != nil {
		return tool.Failure(err.Error())
	}
	res, err := x.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func text(r tool.Result) string { return transcript.Item{Parts: r.Content}.Text() }

// What the turn has read is not given twice, unless something else is asked for or the
// transcript may have lost it.
func TestASkillIsGivenOnceInATurn(t *testing.T) {
	dir := writeTree(t, map[string]string{"a/SKILL.md": skillText("a", ""), "b/SKILL.md": skillText("b", "")})
	s, err := skills.New(skills.Discover([]skills.Location{{Dir: dir}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	give := func(session, name, args string) string {
		t.Helper()
		in, err := json.Marshal(map[string]string{"skill": name, "args": args})
		if err != nil {
			t.Fatal(err)
		}
		r, err := s.Tools()[0].Run(t.Context(), &tool.Call{ID: "1", Session: session, Tool: "Skill", Input: in})
		if err != nil || r.IsError {
			t.Fatalf("%v %v", r, err)
		}
		return text(r)
	}
	const read = "Skill already read."
	for _, first := range [][3]string{{"s", "a", ""}, {"s", "a", "x"}, {"s", "b", ""}, {"t", "a", ""}} {
		if got := give(first[0], first[1], first[2]); got == read {
			t.Errorf("%q was never given", first)
		}
	}
	if got := give("s", "a", ""); got != read {
		t.Errorf("the second time: %q", got)
	}
	for name, over := range map[string]func(){"the turn ends": s.EndTurn, "the transcript is rewritten": s.Forget} {
		if over(); give("s", "a", "") == read || give("s", "a", "") != read {
			t.Errorf("after %s it is not given once", name)
		}
	}
}

func TestTheTool(t *testing.T) {
	files := map[string]string{"mine/SKILL.md": skillText("mine", "disable-model-invocation: true\n")}
	for i := range 6 {
		name := fmt.Sprintf("s%d", i)
		files[name+"/SKILL.md"] = skillText(name, "allowed-tools: Read\nwhen_to_use: asked\n")
	}
	dir := writeTree(t, files)
	var entered []string
	s, err := skills.New(skills.Discover([]skills.Location{{Dir: dir}}), &skills.Options{Enter: func(_ context.Context, c *tool.Call, sk *skills.Skill) error {
		entered = append(entered, c.ID+" "+sk.Name)
		if sk.Name == "s5" {
			return fmt.Errorf("no")
		}
		return nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	x := s.Tools()[0]
	if d := x.Spec().Description; !strings.Contains(d, "\n- s0: About s0. Use it when: asked") || strings.Contains(d, "mine") || strings.Contains(d, "Do s0") || x.Spec().ReadOnly {
		t.Error(x.Spec())
	}
	if got := text(call(t, x, map[string]string{"skill": "s0", "args": "now"})); !strings.Contains(got, "Do s0.\n\nARGUMENTS: now") || !strings.Contains(got, dir+"/s0") {
		t.Error(got)
	}
	for in, want := range map[string]string{"s9": "did you mean", "mine": "only the user can use", "nothing-like-it": "the skills are s0"} {
		if r := call(t, x, map[string]string{"skill": in}); !r.IsError || !strings.Contains(text(r), want) {
			t.Errorf("%s: %s", in, text(r))
		}
	}
	if r := call(t, x, map[string]string{"skill": "s5"}); !r.IsError || !strings.Contains(text(r), "s5 cannot be used: no") {
		t.Error(text(r))
	}
	for _, n := range []string{"s0", "s1", "s2", "s3"} {
		if r := call(t, x, map[string]string{"skill": n}); r.IsError {
			t.Error(text(r))
		}
	}
	if r := call(t, x, map[string]string{"skill": "s4"}); !r.IsError || !strings.Contains(text(r), "already uses 4 skills") {
		t.Error(text(r))
	}
	s.EndTurn()
	if r := call(t, x, map[string]string{"skill": "s4"}); r.IsError {
		t.Error(text(r))
	}
	if want := []string{"1 s0", "1 s5", "1 s0", "1 s1", "1 s2", "1 s3", "1 s4"}; !slices.Equal(entered, want) {
		t.Errorf("%q", entered)
	}
	bare, err := skills.New(skills.Discover([]skills.Location{{Dir: dir}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if r := call(t, bare.Tools()[0], map[string]string{"skill": "s0"}); r.IsError {
		t.Error(text(r))
	}
}

func TestTheDescriptionIsBounded(t *testing.T) {
	files := map[string]string{}
	for i := range 100 {
		name := fmt.Sprintf("skill-%d", i)
		files[name+"/SKILL.md"] = "---\nname: " + name + "\ndescription: " + strings.Repeat("äx ", 300) + "\n---\nx"
	}
	s, err := skills.New(skills.Discover([]skills.Location{{Dir: writeTree(t, files)}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	d := s.Tools()[0].Spec().Description
	if len(d) > 16_000 || strings.Count(d, "\n- skill-") != 100 || !strings.Contains(d, "…") {
		t.Errorf("%d bytes, %d skills", len(d), strings.Count(d, "\n- skill-"))
	}
}

func TestExpand(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"s/commit/SKILL.md": skillText("commit", "aliases: [ci]\nargument-hint: '[message]'\n") + "With $ARGUMENTS in ${CLAUDE_SKILL_DIR}, first $ARGUMENTS[0], $1.\n!`git status`\n",
		"s/auto/SKILL.md":   skillText("auto", "user-invocable: false\n"), "s/bad/SKILL.md": "---\nname: bad\n---\n",
		"c/Deploy_it.md": "---\nallowed-tools: Bash(make:*)\n---\nDeploy $1 to $2 and not $3: $ARGUMENTS.",
	})
	set := skills.Discover([]skills.Location{{Dir: dir + "/s"}, {Dir: dir + "/c", Commands: true}})
	for prompt, want := range map[string]string{
		"/commit fix it":    "With fix it in " + dir + "/s/commit, first fix, $1.",
		"/ci":               "With  in",
		"/commit":           "exactly as written, and substitute their output for the placeholders:\ngit status]",
		"/Deploy_it a  b":   "Deploy a to b and not : a  b.",
		"/Deploy_it\nx y z": "Deploy x to y and not z: x y z.",
	} {
		sk, got, err := set.Expand(prompt)
		if err != nil || sk == nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v", prompt, got, err)
		}
	}
	for _, prompt := range []string{"/usr/bin/env is a path", "/unknown", "commit", "/ commit", "/", ""} {
		if sk, _, err := set.Expand(prompt); sk != nil || err != nil {
			t.Errorf("%q: %v, %v", prompt, sk, err)
		}
	}
	for prompt, want := range map[string]string{"/auto": "only the model can use", "/bad x": "description is missing"} {
		if _, _, err := set.Expand(prompt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", prompt, err)
		}
	}
	sk, _ := set.Find("Deploy_it")
	l := sk.Limit()
	if l == nil || l.Name != "skill Deploy_it" || !slices.Equal(l.Allow, []string{"Bash(make:*)"}) || l.Rules != nil || l.Origin.File != dir+"/c/Deploy_it.md" || l.Origin.Line != 2 {
		t.Errorf("%+v", l)
	}
	if sk, _ := set.Find("commit"); sk.Limit() != nil || sk.ReadRule() != "Read(/"+dir+"/s/commit/**)" {
		t.Error(sk.Limit(), sk.ReadRule())
	}
}

func FuzzParse(f *testing.F) {
	for _, in := range []string{skillText("x", ""), skillText("x", "allowed-tools: [Read, 'Bash(git:*)']\n"), "---\nname: x\n---", skillText("x", "metadata: &a {b: *a}\n"), skillText("x", "allowed-tools: Bash(\\) x\n")} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		sk, err := skills.Parse("/s/x/SKILL.md", in)
		if err != nil {
			return
		}
		if sk.Name != "x" || sk.Description == "" || sk.Text("a b") == "" || sk.Allow != nil && sk.Limit() == nil {
			t.Fatalf("%+v", sk)
		}
	})
}

func ExampleNew() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Mkdir(filepath.Join(dir, "greet"), 0o700); err != nil {
		panic(err)
	}
	body := "---\nname: greet\ndescription: Greets people.\n---\nSay hello to $ARGUMENTS."
	if err := os.WriteFile(filepath.Join(dir, "greet", "SKILL.md"), []byte(body), 0o600); err != nil {
		panic(err)
	}
	set := skills.Discover([]skills.Location{{Dir: dir, Source: skills.User}})
	s, err := skills.New(set, nil)
	if err != nil {
		panic(err)
	}
	res, err := s.Tools()[0].Run(context.Background(), &tool.Call{Input: json.RawMessage(`{"skill": "greet", "args": "Ada"}`)})
	if err != nil {
		panic(err)
	}
	said := transcript.Item{Parts: res.Content}.Text()
	fmt.Println(said[strings.Index(said, "Say"):])
	// Output: Say hello to Ada.
}
