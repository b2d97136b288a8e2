package policy

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/layernames"
)

func TestProtectedPaths(t *testing.T) {
	for p, want := range map[string]bool{
		"/p/.git/hooks/pre-commit": true, "/p/.git": true, "/p/sub/.git/config": true, "/p/.GIT/config": true,
		"/p/.vscode/settings.json": true, "/p/.config/git/config": true, "/home/me/.bashrc": true, "/p/.npmrc": true,
		"/p/.mcp.json": true, "/p/.holdfast/settings.json": true, "/p/.claude/settings.json": true, "/p/.claude.json": true,
		"/p/lefthook.yml": true, "/p/.pnp.cjs": true, "/p/.ssh/config": true,
		"/p/.claude/worktrees/x/a.go": false, "/p/.claude/worktrees/x/.git/config": true, "/p/.holdfast/worktrees/x/a.go": false, "/p/.holdfast/worktrees/x/.holdfast/a": true,
		"/p/a.go": false, "/p/.gitignore": false, "/p/git/config": false, "/p/.config/other": false, "/p/x.bashrc": false,
		"/p/.github/workflows/a.yml": false, "/": false, "": false, "/p/bashrc": false,
	} {
		if got := loadProtected().writes.has(p); got != want {
			t.Errorf("%q is protected: %v, want %v", p, got, want)
		}
	}
}

func TestSecretFiles(t *testing.T) {
	for p, want := range map[string]bool{
		"/p/.env": true, "/p/.env.production": true, "/p/x/.ENV": true, "/p/a.pem": true, "/p/a.key": true, "/p/id_ed25519": true,
		"/home/me/.ssh/id_rsa": true, "/home/me/.aws/credentials": true, "/home/me/.netrc": true, "/p/.npmrc": true, "/p/secrets/a": true,
		"/p/.env.example": false, "/p/.env.sample": false, "/p/id_rsa.pub": false, "/p/environment": false, "/p/keys.go": false, "/p/a.key.go": false,
		"/p/secret.go": false, "": false, "/": false,
	} {
		if got := loadProtected().secrets.has(p); got != want {
			t.Errorf("%q is a secret: %v, want %v", p, got, want)
		}
	}
}

func TestProtectedPathsAsk(t *testing.T) {
	const hook = "/p/.git/hooks/pre-commit"
	rules, _, err := RuleOptions{Cwd: "/p"}.Compile([]RuleSource{{Effect: Allow, Text: "Edit", Layer: layernames.User}, {Effect: Allow, Text: "Bash", Layer: layernames.User}})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []Request{
		{Tool: "Edit", Operation: OpWrite, Resource: hook},
		{Tool: "Bash", Operation: OpCommand, Resource: "echo x > .git/hooks/pre-commit", Cwd: "/p"},
		{Tool: "Bash", Operation: OpCommand, Resource: "cd .git && cp ../x hooks/pre-commit", Cwd: "/p"},
	} {
		for _, m := range Modes() {
			want := Ask
			switch m {
			case ModeBypass:
				want = Allow
			case ModeDontAsk, ModeSilent:
				want = Deny
			}
			g, err := New(&Config{Mode: m, Folders: []string{"/p"}, Rules: rules, NewID: func() string { return "g1" }})
			if err != nil {
				t.Fatal(err)
			}
			d := g.Guard(r.Tool).Judge(t.Context(), []Request{r}, nil)
			if d.Effect != want {
				t.Errorf("mode %s, %s: %s by %s, want %s", m, r.Resource, d.Effect, d.By, want)
			}
			if want == Ask && (d.By != protectedName || !strings.Contains(d.Reason, hook)) {
				t.Errorf("mode %s, %s: by %s because %s", m, r.Resource, d.By, d.Reason)
			}
			c, err := g.Check(Change{Grant: &Grant{Effect: Allow, Tool: r.Tool, Operation: r.Operation, Resource: r.Resource, Cwd: r.Cwd}})
			if err == nil {
				err = g.Apply(c)
			}
			if err != nil {
				t.Fatal(err)
			}
			if d := g.Guard(r.Tool).Judge(t.Context(), []Request{r}, nil); d.Effect != Allow {
				t.Errorf("mode %s, %s, granted: %s by %s", m, r.Resource, d.Effect, d.By)
			}
		}
	}
}

func TestIsSecret(t *testing.T) {
	for path, want := range map[string]bool{"/w/.env": true, "/w/ID_RSA": true, "/w/secrets/a": true, "/w/.env.example": false, "/w/a": false} {
		if isSecret(path) != want {
			t.Errorf("%s: %v", path, !want)
		}
	}
}

func TestReadingProtectedPathsIsReading(t *testing.T) {
	for _, r := range []Request{
		{Tool: "Read", Operation: OpRead, Resource: "/p/.git/config", ReadOnly: true},
		{Tool: "Bash", Operation: OpCommand, Resource: "cat .git/config", Cwd: "/p"},
	} {
		if v := protectLimit().Evaluate(r); v.Effect != NoOpinion {
			t.Errorf("%s: %+v", r.Resource, v)
		}
	}
}

// A configuration with more files still has the limit only once.
func TestProtectedPathsOnce(t *testing.T) {
	g, err := New(&Config{Protected: []string{"/home/u/settings.json"}})
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, l := range g.Guard("Edit").Chain().Links {
		if l.Name == protectedName {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d times", n)
	}
}
