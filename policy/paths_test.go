package policy

import (
	"errors"
	"strings"
	"testing"
)

func TestPathPoliciesRefuse(t *testing.T) {
	for _, c := range []struct {
		o    PathRules
		want string
	}{
		{PathRules{}, "empty"},
		{PathRules{Cwd: "/w"}, "empty"},
		{PathRules{Default: "perhaps"}, "use allow, deny or ask"},
		{PathRules{Cwd: "/w", Allow: []string{"a["}}, "not a usable pattern"},
		{PathRules{Cwd: "/w", Deny: []string{""}}, "must not be empty"},
		{PathRules{Deny: []string{"a"}}, "not known"},
		{PathRules{Cwd: "/w", Deny: []string{"~/x"}}, "not known"},
	} {
		if _, err := c.o.ReadPolicy(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
		if _, err := c.o.WritePolicy(); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.o, err, c.want)
		}
	}
	for _, globs := range [][]string{nil, {}, {"["}, {""}} {
		if p, err := (PathRules{Deny: globs, Cwd: "/w"}).ForbidPolicy(); p != nil || !errors.Is(err, ErrInvalid) {
			t.Errorf("%q: %v", globs, err)
		}
	}
}

func TestReadAndWritePaths(t *testing.T) {
	o := PathRules{Allow: []string{"src/**", "/data/*.csv"}, Deny: []string{"src/gen/**", "**/*.key"}, Default: Ask, Cwd: "/w"}
	reads, err := o.ReadPolicy()
	if err != nil {
		t.Fatal(err)
	}
	writes, err := o.WritePolicy()
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[string]Effect{
		"/w/src/a": Allow, "/data/a.csv": Allow, "/data/a/b.csv": Ask, "/w/src/gen/a": Deny, "/w/src/gen": Deny,
		"/w/src/x.key": Deny, "/x.key": Deny, "/w/other": Ask, "/w/src2": Ask, "/w/SRC/a": Ask, "": Ask, "/w/src/../other": Ask,
	} {
		if got := reads.Evaluate(read(p)); got.Effect != want {
			t.Errorf("read %s: %+v, want %q", p, got, want)
		}
		if got := writes.Evaluate(write(p)); got.Effect != want {
			t.Errorf("write %s: %+v, want %q", p, got, want)
		}
		if a, b := reads.Evaluate(write(p)), writes.Evaluate(read(p)); a.Effect != NoOpinion || b.Effect != NoOpinion {
			t.Errorf("%s: a policy has an opinion on the other's business: %+v %+v", p, a, b)
		}
	}
	for line, want := range map[string]Effect{
		"cat src/a":         NoOpinion, // never allows the command itself
		"cat src/gen/a":     Deny,
		"cat other":         Ask,
		"cat $X":            Ask,
		"echo x > src/a":    NoOpinion,
		"echo x":            NoOpinion,
		"cat < src/gen/a":   Deny,
		"true; cat a.key":   Deny,
		"cd src; cat gen/a": Deny,
	} {
		if got := reads.Evaluate(bash(line)); got.Effect != want {
			t.Errorf("%s: %+v, want %q", line, got, want)
		}
	}
	for line, want := range map[string]Effect{
		"echo x > src/a": NoOpinion, "echo x > src/gen/a": Deny, "echo x > other": Ask, "echo x > $X": Ask, "cat src/gen/a": NoOpinion, "echo x > /dev/null": NoOpinion,
	} {
		if got := writes.Evaluate(bash(line)); got.Effect != want {
			t.Errorf("%s: %+v, want %q", line, got, want)
		}
	}
	for _, r := range []Request{fetch("x.org"), mcp("mcp__a__b"), {Tool: "Todo"}} {
		if a, b := reads.Evaluate(r), writes.Evaluate(r); a.Effect != NoOpinion || b.Effect != NoOpinion {
			t.Errorf("%+v: %+v %+v", r, a, b)
		}
	}
}

// Without a default, the rest of the chain decides about paths that no glob matches.
func TestPathsWithoutADefault(t *testing.T) {
	p, err := PathRules{Allow: []string{"a"}, Cwd: "/w"}.ReadPolicy()
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Evaluate(read("/w/b")); v.Effect != NoOpinion {
		t.Errorf("%+v", v)
	}
	p, err = PathRules{Default: Deny}.ReadPolicy()
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Evaluate(read("/w/b")); v.Effect != Deny || v.Reason == "" {
		t.Errorf("%+v", v)
	}
}

func TestForbiddenGlobs(t *testing.T) {
	p, err := PathRules{Deny: []string{".git/**", "**/.env*", "**/*.pem", "**/*.key", "**/id_rsa*", "**/secrets/**", "**/.npmrc", "**/.yarnrc", "**/*.crt"}, Cwd: "/w"}.ForbidPolicy()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Effect{
		"/w/.env": Deny, "/w/.env.local": Deny, "/x/.env": Deny, "/w/.git/config": Deny, "/w/a/id_rsa.pub": Deny, "/w/secrets": Deny,
		"/w/secrets/a/b": Deny, "/w/.npmrc": Deny, "/w/a.pem": Deny, "/w/.gitignore": NoOpinion, "/w/a.go": NoOpinion, "/w/env": NoOpinion,
	} {
		for _, r := range []Request{read(path), write(path), {Tool: "Run", Operation: OpExec, Resource: path}} {
			if got := p.Evaluate(r); got.Effect != want {
				t.Errorf("%s %s: %+v, want %q", r.Operation, path, got, want)
			}
		}
	}
	for line, want := range map[string]Effect{
		"cat .env": Deny, "cp .env x": Deny, "echo > .git/hooks/pre-commit": Deny, "cat $X": Ask, "ls": NoOpinion, "cat a.go": NoOpinion, "echo .env": NoOpinion,
	} {
		if got := p.Evaluate(bash(line)); got.Effect != want {
			t.Errorf("%s: %+v, want %q", line, got, want)
		}
	}
	if v := p.Evaluate(read("/w/.env")); v.Reason != "touching /w/.env is forbidden by **/.env*" || v.Rule == nil || v.Rule.Rule != "**/.env*" {
		t.Errorf("%+v", v)
	}
	p, err = PathRules{Deny: []string{".git/**", "**/.env*", "**/*.pem", "**/secrets/**"}, Cwd: "/w"}.ForbidPolicy()
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Evaluate(bash("cat *.go")); v.Effect != NoOpinion {
		t.Errorf("%+v", v)
	}
}

// TestForbiddenAt checks that a verdict names the position of the glob.
func TestForbiddenAt(t *testing.T) {
	p, err := PathRules{
		Deny: []string{"a/**", "b/**"}, Cwd: "/w", Home: "/u",
		Origins: []Origin{{Rule: "a/**", File: "s.json", Line: 1}, {Rule: "b/**", File: "s.json", Line: 2}, {}},
	}.ForbidPolicy()
	if err != nil {
		t.Fatal(err)
	}
	v := p.Evaluate(Request{Tool: "Read", Operation: OpRead, Resource: "/w/b/x"})
	if v.Effect != Deny || v.Rule == nil || v.Rule.Line != 2 || v.Rule.Rule != "b/**" {
		t.Errorf("%+v", v)
	}
}
