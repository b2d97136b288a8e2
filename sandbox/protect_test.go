package sandbox

import (
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
)

// alwaysForbidden are the names that are forbidden in every workspace, relative to ws.
func alwaysForbidden(root string) []string {
	var out []string
	for _, name := range workspaceForbidden {
		out = append(out, root+"/ws/"+strings.TrimSuffix(name, "/"))
	}
	return out
}

func TestProtect(t *testing.T) {
	for name, tt := range map[string]struct {
		tree                  []string
		layer                 Settings
		fixed, pin, forbidden string // relative to ws
	}{
		"nothing there": {nil, Settings{}, "", "", ""},
		"a repository":  {[]string{".git/hooks/", ".git/config"}, Settings{}, ".git/config .git/hooks", ".git", ".git/config.worktree"},
		"an empty one":  {[]string{".git/"}, Settings{}, "", ".git", ".git/config .git/config.worktree .git/hooks"},
		"a nested one": {
			[]string{"a/b/.git/hooks/", "a/b/.git/config", "a/b/.git/config.worktree"},
			Settings{},
			"a/b/.git/config a/b/.git/config.worktree a/b/.git/hooks", "a a/b a/b/.git", "",
		},
		"too deep":       {[]string{"a/b/c/d/.git/"}, Settings{}, "", "", ""},
		"among packages": {[]string{"node_modules/x/.git/", "vendor/.npmrc"}, Settings{}, "", "", ""},
		"settings":       {[]string{".claude/x", ".mcp.json", "a/.vscode/", "a/.NPMRC", "lefthook.yml"}, Settings{}, ".claude .mcp.json a/.NPMRC a/.vscode lefthook.yml", "a", ""},
		"worktrees": {
			[]string{".claude/worktrees/x/", ".claude/settings.json", ".claude/own/"},
			Settings{},
			".claude/own .claude/settings.json", ".claude .claude/worktrees .claude/worktrees/x",
			".claude/CLAUDE.md .claude/agents .claude/commands .claude/hooks .claude/output-styles .claude/plugins .claude/rules .claude/settings.local.json .claude/skills",
		},
		"our worktrees": {
			[]string{
				".git/config", ".git/hooks/", ".git/worktrees/x/commondir: ../..", ".git/worktrees/x/HEAD", ".holdfast/settings.json",
				".holdfast/worktrees/x/.git: gitdir: ../../../.git/worktrees/x", ".holdfast/worktrees/x/.mcp.json", ".holdfast/worktrees/.gitignore",
			},
			Settings{},
			".git/config .git/hooks .git/worktrees/x/commondir .holdfast/settings.json .holdfast/worktrees/x/.git .holdfast/worktrees/x/.mcp.json",
			".git .git/worktrees .git/worktrees/x .holdfast .holdfast/worktrees .holdfast/worktrees/x",
			".git/config.worktree .git/worktrees/x/config.worktree .holdfast/agents .holdfast/project .holdfast/settings.local.json .holdfast/skills",
		},
		"by parts":         {[]string{".yarn/cache/", ".yarn/releases/", ".pnp.cjs"}, Settings{}, ".yarn/releases", ".yarn", ".yarn/plugins .yarn/sdks"},
		"named":            {[]string{"a/f"}, Settings{ProtectedPaths: []string{"@/ws/a/f", "@/ws/a/g", "@/ws/d/"}}, "a/f", "a", "a/g d"},
		"named, far away":  {nil, Settings{ProtectedPaths: []string{"@/ws/n/m/f"}}, "", "", "n"},
		"a folder is all":  {[]string{"a/.git/config"}, Settings{ProtectedPaths: []string{"@/ws/a"}}, "a", "", ""},
		"denied beats":     {[]string{".git/config", "a/.mcp.json"}, Settings{DeniedPaths: []string{"@/ws/.git", "@/ws/a"}}, "", "", ""},
		"denied, absent":   {[]string{"a/"}, Settings{DeniedPaths: []string{"@/ws/a/.env"}}, "", "a", "a/.env"},
		"denied, deep":     {[]string{"a/b/c"}, Settings{DeniedPaths: []string{"@/ws/a/b/c"}}, "", "a a/b", ""},
		"a bare one":       {[]string{"r/HEAD", "r/objects/", "r/refs/", "r/config"}, Settings{}, "r/config", "r", "r/config.worktree r/hooks"},
		"hooks elsewhere":  {[]string{".git/config: [core]\n\thooksPath = .husky/_ ; x", ".git/hooks/", "tools/"}, Settings{}, ".git/config .git/hooks", ".git", ".git/config.worktree .husky"},
		"what is included": {[]string{".git/config: [include]\n\tpath = ../git.conf", ".git/hooks/", "git.conf"}, Settings{}, ".git/config .git/hooks git.conf", ".git", ".git/config.worktree"},
		"linked": {
			[]string{".git/config", ".git/hooks/", ".git/worktrees/w/commondir: ../..", ".git/worktrees/w/HEAD", "w/.git: gitdir: ../.git/worktrees/w"},
			Settings{},
			".git/config .git/hooks .git/worktrees/w/commondir w/.git", ".git .git/worktrees .git/worktrees/w w",
			".git/config.worktree .git/worktrees/w/config.worktree",
		},
		"submodule": {
			[]string{".git/config", ".git/hooks/", ".git/modules/l/s/HEAD", ".git/modules/l/s/config", "l/s/.git: gitdir: ../../.git/modules/l/s"},
			Settings{},
			".git/config .git/hooks .git/modules/l/s/config l/s/.git", ".git .git/modules .git/modules/l .git/modules/l/s l l/s",
			".git/config.worktree .git/modules/l/s/config.worktree .git/modules/l/s/hooks",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tree := []string{"home/", "ws/"}
			for _, line := range tt.tree {
				tree = append(tree, "ws/"+line)
			}
			root := plant(t, tree...)
			p, err := planFor(t, root, testLayer{Settings: tt.layer})
			if err != nil {
				t.Fatal(err)
			}
			always := alwaysForbidden(root)
			inWorktree := regexp.MustCompile("^" + regexp.QuoteMeta(root) + `/ws/\.(claude|holdfast)/worktrees/x/`)
			others := slices.DeleteFunc(forbiddenPaths(p), func(b string) bool {
				return slices.Contains(always, inWorktree.ReplaceAllString(b, root+"/ws/")) || path.Base(b) == commonDirFile
			})
			for what, got := range map[string][2]string{
				"fixed":     {relative(root+"/ws", p.policy.ReadOnly), tt.fixed},
				"pin":       {relative(root+"/ws", p.policy.Pin), tt.pin},
				"forbidden": {relative(root+"/ws", others), tt.forbidden},
			} {
				if got[0] != got[1] {
					t.Errorf("%s:\n got %s\nwant %s", what, got[0], got[1])
				}
			}
		})
	}
}

// TestPlaceholderBesideWorktrees checks that the placeholders of a command do not influence the plan of the
// next one.
func TestPlaceholderBesideWorktrees(t *testing.T) {
	root := plant(t, "home/", "ws/.holdfast/worktrees/", "ws/.holdfast/agents: .")
	if err := os.Chmod(root+"/ws/.holdfast/agents", 0o440); err != nil {
		t.Fatal(err)
	}
	p, err := planFor(t, root, testLayer{})
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(p.policy.ReadOnly, root+"/ws/.holdfast/agents") || !slices.Contains(forbiddenPaths(p), root+"/ws/.holdfast/agents") {
		t.Errorf("read-only %q, forbidden %q", p.policy.ReadOnly, forbiddenPaths(p))
	}
}

func TestWholeHomeProtected(t *testing.T) {
	root := plant(t, "home/.bashrc", "home/.config/", "ws/")
	p, err := planFor(t, root, testLayer{Settings: Settings{AllowedWritePaths: []string{"@/home"}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{".profile", ".zshenv", ".gitconfig", ".config/git", ".config/systemd", ".ssh", ".holdfast"} {
		i := slices.IndexFunc(p.policy.Forbid, func(n kernel.Name) bool { return n.Path == root+"/home/"+name })
		if i < 0 {
			t.Errorf("%s can be made", name)
		}
	}
	if !slices.Contains(p.policy.ReadOnly, root+"/home/.bashrc") {
		t.Errorf("got %q", p.policy.ReadOnly)
	}
}

func TestHide(t *testing.T) {
	tree := []string{
		"ws/.env", "ws/secret/x", "ws/to-secret -> secret", "ws/a.pem", "home/.ssh/id", "home/.ssh/known_hosts", "home/.aws/credentials",
		"home/.config/gh/hosts.yml", "home/.holdfast/sessions.db", "home/.netrc", "home/.env", "home/src/f", "out/f",
	}
	all := []string{"@/home", "@/ws"}
	const builtIn = "home/.aws home/.config/gh home/.holdfast home/.netrc home/.ssh"
	for name, tt := range map[string]struct {
		layer testLayer
		want  string
	}{
		"out of sight": {testLayer{}, ""},
		"built in":     {testLayer{Settings: Settings{AllowedReadPaths: all}}, builtIn},
		"denied":       {testLayer{Settings: Settings{DeniedPaths: []string{"@/ws/.env", "@/ws/secret", "@/out/f"}}}, "ws/.env ws/secret"},
		"by a link":    {testLayer{Settings: Settings{DeniedPaths: []string{"@/ws/to-secret/x"}}}, "ws/secret/x"},
		"by name":      {testLayer{Settings: Settings{AllowedReadPaths: append(all, "@/home/.netrc", "@/home/.aws")}}, "home/.config/gh home/.holdfast home/.ssh"},
		"one inside":   {testLayer{Settings: Settings{AllowedReadPaths: append(all, "@/home/.ssh/known_hosts")}}, "home/.aws home/.config/gh home/.holdfast home/.netrc home/.ssh/id"},
		"by a stranger": {
			testLayer{Settings: Settings{AllowedReadPaths: append(all, "@/home/.ssh")}, untrusted: true}, builtIn,
		},
		"never our own": {testLayer{Settings: Settings{AllowedReadPaths: append(all, "@/home/.holdfast")}}, builtIn},
		"denied wins":   {testLayer{Settings: Settings{AllowedReadPaths: append(all, "@/home/.netrc"), DeniedPaths: []string{"@/home"}}}, "home"},
	} {
		t.Run(name, func(t *testing.T) {
			root := plant(t, tree...)
			p, err := planFor(t, root, tt.layer)
			if err != nil {
				t.Fatal(err)
			}
			if got := relative(root, p.policy.Hide); got != tt.want {
				t.Errorf("got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A file that leads git to the hooks of another repository cannot be created in any repository, and its
// placeholder does not disturb git.
func TestCommonDirForbidden(t *testing.T) {
	root := plant(t, "ws/.git/config", "ws/.git/hooks/", "ws/.git/objects/", "ws/a/b/.git/config", "ws/a/b/.git/objects/")
	p, err := planFor(t, root, testLayer{})
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"/ws/.git/", "/ws/a/b/.git/"} {
		if !slices.Contains(p.policy.Forbid, kernel.Name{Path: root + dir + commonDirFile, Dot: true}) {
			t.Errorf("%s can be made", dir+commonDirFile)
		}
	}
}
