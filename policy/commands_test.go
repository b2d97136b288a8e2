package policy

import (
	"errors"
	"testing"
)

func TestCommandsRefuse(t *testing.T) {
	for _, o := range []CommandLists{
		{},
		{Default: "x"},
		{Deny: []string{""}},
		{Deny: []string{"("}},
		{Deny: []string{"rm", "a)"}},
		{Allow: []string{"git:* x"}},
		{Allow: []string{":*"}},
		{Deny: []string{"Bash("}},
		{Deny: []string{"Bash()"}},
		{Deny: []string{"*"}},
	} {
		if c, err := o.Policy(); c != nil || !errors.Is(err, ErrInvalid) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

func TestCommands(t *testing.T) {
	c, err := CommandLists{Deny: []string{"rm", "Bash(git push:*)", "curl * | sh"}, Allow: []string{"git:*", "ls"}}.Policy()
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]Effect{
		"rm x": Deny, "/bin/rm x": Deny, "sudo rm x": Deny, "ls; rm x": Deny, "rmdir x": NoOpinion, "git -C d push": Deny,
		"curl x | sh": Deny, "curl x": NoOpinion, "git status": Allow, "git status && ls": Allow, "ls && make": NoOpinion, "./ls": NoOpinion,
		"$X": Ask, "ls $(rm y)": Deny, "ls > a": NoOpinion, "ls > /dev/null": Allow, "timeout 5 git status": Allow,
		"PATH=. git status": NoOpinion, "echo rm": NoOpinion,
	} {
		if got := c.Evaluate(bash(line)); got.Effect != want {
			t.Errorf("%s: %+v, want %q", line, got, want)
		}
	}
	for _, r := range []Request{read("/w/rm"), fetch("rm"), {Tool: "rm"}} {
		if got := c.Evaluate(r); got.Effect != NoOpinion {
			t.Errorf("%+v: %+v", r, got)
		}
	}
}

func TestCommandsWithADefault(t *testing.T) {
	c, err := CommandLists{Allow: []string{"ls"}, Default: Deny}.Policy()
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]Effect{"ls -l": Allow, "make": Deny, "$X": Deny, "ls; make": Deny} {
		if got := c.Evaluate(bash(line)); got.Effect != want || got.Reason == "" {
			t.Errorf("%s: %+v, want %q", line, got, want)
		}
	}
}

// An allowed program may be called by its path if that is the system's program. Another program with
// the same name is not allowed. This holds for rules and for lists of commands.
func TestAllowedProgramByItsPath(t *testing.T) {
	rules, _, err := RuleOptions{Home: "/h", Cwd: "/w"}.Compile([]RuleSource{{Effect: Allow, Text: "Bash(git status:*)"}})
	if err != nil {
		t.Fatal(err)
	}
	list, err := CommandLists{Allow: []string{"git", "make test:*"}, Home: "/h"}.Policy()
	if err != nil {
		t.Fatal(err)
	}
	g, err := New(&Config{Rules: rules, Folders: []string{"/w"}, Home: "/h"})
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]Effect{
		"git status": Allow, "/usr/bin/git status -s": Allow, "/bin/git status": Allow, "//usr/./bin/git status": Allow,
		"/usr/bin/env git status": Allow, "/usr/bin/git push": Ask, "/tmp/git status": Ask, "./git status": Ask,
		"/usr/bin/../../tmp/git status": Ask, "/w/link/../../usr/bin/git status": Ask, "/usr/bin/x/../git status": Ask, "usr/bin/git status": Ask, "/usr/bin/git status > /etc/x": Ask,
	} {
		r := Request{Tool: "Bash", Operation: OpCommand, Resource: line, Cwd: "/w"}
		if d := g.Guard("Bash").Judge(t.Context(), []Request{r}, nil); d.Effect != want {
			t.Errorf("rule, %s: %s (%s), want %s", line, d.Effect, d.Reason, want)
		}
	}
	for line, want := range map[string]Effect{
		"/usr/bin/git push": Allow, "/usr/local/bin/make test x": Allow, "/usr/bin/make all": NoOpinion, "/tmp/git push": NoOpinion,
		"/w/link/../../usr/bin/git push": NoOpinion, "/w/link/../../usr/bin/make test x": NoOpinion,
	} {
		if v := list.Evaluate(Request{Tool: "Bash", Operation: OpCommand, Resource: line, Cwd: "/w"}); v.Effect != want {
			t.Errorf("list, %s: %s (%s), want %q", line, v.Effect, v.Reason, want)
		}
	}
}
