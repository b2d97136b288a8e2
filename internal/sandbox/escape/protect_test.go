//go:build linux

package escape

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/sandbox"
)

const evilHook = `printf '#!/bin/sh\n' >`

// protects try to leave a file in the workspace that runs on the host later.
var protects = []attempt{
	{id: "G01", what: "make a hook", script: evilHook + `"$WS/.git/hooks/pre-commit"`},
	{id: "G03", what: "move the repository away and make one with a hook", script: `mv "$WS/.git" "$WS/.git_old" && mkdir -p "$WS/.git/hooks" && ` + evilHook + `"$WS/.git/hooks/pre-commit"`},
	{id: "G06", what: "remove the repository and make one with a hook", script: `rm -rf "$WS/.git" 2>/dev/null; mkdir -p "$WS/.git/hooks"; ` + evilHook + `"$WS/.git/hooks/pre-commit"`},
	{id: "G07", what: "make a hook of a repository below", script: evilHook + `"$WS/sub/.git/hooks/post-checkout"`},
	{id: "G08", what: "make .mcp.json", script: `echo '{}' >"$WS/.mcp.json"`},
	{id: "G10", what: "make settings of editors", script: `mkdir -p "$WS/.vscode" && echo '{}' >"$WS/.vscode/tasks.json" || { mkdir -p "$WS/.idea" && echo x >"$WS/.idea/workspace.xml"; }`},
	{
		id: "G13", what: "plant a bare repository that runs a program", script: `
			mkdir -p "$WS/planted/objects" "$WS/planted/refs" "$WS/planted/wt" && echo 'ref: refs/heads/main' >"$WS/planted/HEAD" &&
			printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = wt\n\tfsmonitor = "touch %s/pwned; false"\n' "$OUT" >"$WS/planted/config"`,
		absent: lacks("git"), after: gitIn("planted"), private: true, // git ignores it with safe.bareRepository=explicit
	},
	{
		id: "G15", what: "write the settings through a link that lies in their place", script: `mkdir -p "$WS/decoy" && echo '{}' >"$WS/.claude/settings.json"`,
		arrange: func(t *testing.T, f *fixture) {
			f.put(t, f.WS+"/decoy/x", "")
			must(t, os.Symlink("decoy", f.WS+"/.claude"))
		}, refused: true,
	},
	{id: "G16", what: "write the agent's own state", script: `echo x >"$STATE/sessions.db" || echo x >"$STATE/audit/log" || echo x >"$STATE/policy.json"`},

	{id: "C01", what: "change the repository's configuration", script: `printf '[core]\n\tfsmonitor = evil\n' >>"$WS/.git/config"`},
	{id: "C02", what: "let git change its configuration", script: `git -C "$WS" config core.fsmonitor evil`, absent: lacks("git")},
	{id: "C03", what: "point the repository to a folder with another configuration (commondir)", script: `echo ../evil >"$WS/.git/commondir"`},
	{id: "C04", what: "write the configuration of a submodule", script: `printf '[core]\n\tfsmonitor = evil\n' >>"$WS/.git/modules/lib/config"`},
	{id: "C05", what: "make a hook of a submodule", script: evilHook + `"$WS/.git/modules/lib/hooks/post-checkout"`},
	{id: "C06", what: "move a submodule's repository away and make another", script: `mv "$WS/.git/modules" "$WS/.git/m" && mkdir -p "$WS/.git/modules/lib/hooks" && ` + evilHook + `"$WS/.git/modules/lib/hooks/post-checkout"`},
	{id: "C07", what: "move the folder of a repository below away and make another", script: `mv "$WS/sub" "$WS/s" && mkdir -p "$WS/sub/.git/hooks" && ` + evilHook + `"$WS/sub/.git/hooks/post-checkout"`},
	{
		id: "C08", what: "move the folder of a repository below away, and write the hook in the next command",
		before: `mv "$WS/sub" "$WS/s"`, script: evilHook + `"$WS/s/.git/hooks/post-checkout"`, after: noHook("s/.git/hooks/post-checkout"),
	},
	{id: "C09", what: "make a hook by a file without a name", try: func(p *outside) error { return nameless(p.WS, p.WS+"/.git/hooks/pre-commit") }},
	{id: "C10", what: "exchange the repository for another", script: `mkdir -p "$WS/e/hooks"; ` + evilHook + `"$WS/e/hooks/pre-commit"; "$BIN" probe C10x "$BASE"`},
	{id: "C11", what: "give the configuration another name and write that", script: `ln "$WS/.git/config" "$WS/c" && echo '[x]' >>"$WS/c"`},
	{id: "C12", what: "move a file to the name of .mcp.json", script: `echo '{}' >"$WS/m.json" && mv -f "$WS/m.json" "$WS/.mcp.json"`},
	{id: "C13", what: "link to the name of .mcp.json", script: `echo '{}' >"$WS/m.json" && ln -sf m.json "$WS/.mcp.json" || ln -f "$WS/m.json" "$WS/.mcp.json"`},
	{id: "C14", what: "move a folder to the name of .claude", script: `mkdir "$WS/c" && echo '{}' >"$WS/c/settings.json" && mv -T "$WS/c" "$WS/.claude"`},
	{id: "C15", what: "remove the placeholder and make the name", script: `rm -rf "$WS/.claude" "$WS/.mcp.json"; mkdir "$WS/.claude" && echo '{}' >"$WS/.claude/settings.json" || echo '{}' >"$WS/.mcp.json"`},
	{id: "C16", what: "make the agent's settings", script: `mkdir -p "$WS/.holdfast" && echo '{}' >"$WS/.holdfast/settings.json"`},
	{
		id: "C17", what: "change settings that are there", script: `echo '{"hooks":{}}' >"$WS/.claude/settings.json"`,
		arrange: func(t *testing.T, f *fixture) { f.put(t, f.WS+"/.claude/settings.json", "{}") },
	},
	{
		id: "C18", what: "add to settings that are there", script: `echo '{"hooks":{}}' >"$WS/.claude/settings.local.json"`,
		arrange: func(t *testing.T, f *fixture) { f.put(t, f.WS+"/.claude/settings.json", "{}") },
	},
	{
		id: "C19", what: "make a hook where the configuration says that hooks are (core.hooksPath)", script: evilHook + `"$WS/.githooks/pre-commit"`,
		arrange: func(t *testing.T, f *fixture) {
			f.put(t, f.WS+"/.githooks/sample", "")
			f.put(t, f.WS+"/.git/config", "[core]\n\thooksPath = .githooks\n")
		}, refused: true,
	},
	{
		id: "C20", what: "change a file that the configuration includes", script: `printf '[core]\n\tfsmonitor = evil\n' >>"$WS/shared.gitconfig"`,
		arrange: func(t *testing.T, f *fixture) {
			f.put(t, f.WS+"/shared.gitconfig", "[x]\n")
			f.put(t, f.WS+"/.git/config", "[core]\n\tbare = false\n[include]\n\tpath = ../shared.gitconfig\n")
		}, refused: true,
	},
	{
		id: "C21", what: "change a name that the settings protect", script: `echo x >"$WS/main.go" || mv "$WS/main.go" "$WS/m.go" || rm -f "$WS/main.go"`,
		settings: protectMain, after: unchanged("main.go", "package main\n"),
	},
	{
		id: "C22", what: "make a name that the settings protect", script: `mkdir -p "$WS/deploy" && echo x >"$WS/deploy/key"`,
		settings: protectMain, after: noHook("deploy/key"),
	},
	{
		id: "C23", what: "make a forbidden name when another command of the sandbox ends", beside: `true`,
		try: func(p *outside) error {
			if err := p.ready(); err != nil {
				return err
			}
			return createForbiddenName(p)
		},
	},
	{
		id: "C24", what: "make a forbidden name when another sandbox on the workspace ends", during: otherSandbox,
		try: func(p *outside) error {
			if err := p.ready(); err != nil {
				return err
			}
			return createForbiddenName(p)
		},
	},
	{
		id: "C25", what: "make a forbidden name after somebody on the host removed the placeholder", during: removePlaceholders, strict: true,
		documented: func(_ *fixture, o *outcome) string { // no mount protects a name whose placeholder was removed: it is reported
			if !strings.Contains(o.report, "although its name is protected") {
				return "it is not reported: " + o.report
			}
			return ""
		},
		try: func(p *outside) error {
			if err := p.ready(); err != nil {
				return err
			}
			return createForbiddenName(p)
		},
	},
	{id: "C26", what: "make a hook with tricks of spelling", script: `cd "$WS/.git/./hooks/../hooks" && : >pre-commit || : >"$WS/sub/../.git/hooks/pre-commit"`},
	{
		id: "C27", what: "make a hook of a repository that lies deep", script: evilHook + `"$WS/a/b/c/.git/hooks/post-checkout"`,
		arrange: func(t *testing.T, f *fixture) {
			for name, text := range map[string]string{"HEAD": "ref: refs/heads/main\n", "config": "[core]\n", "hooks/sample": ""} {
				f.put(t, f.WS+"/a/b/c/.git/"+name, text)
			}
		}, after: noHook("a/b/c/.git/hooks/post-checkout"),
	},
	{
		id: "C28", what: "make a hook of the repository that a worktree belongs to", script: evilHook + `"$WS/wt/x"; ` + evilHook + `"$(sed 's/gitdir: //' "$WS/wt/.git")/../../hooks/pre-commit"`,
		arrange: func(t *testing.T, f *fixture) {
			f.put(t, f.WS+"/.git/worktrees/wt/HEAD", "ref: refs/heads/w\n")
			f.put(t, f.WS+"/.git/worktrees/wt/commondir", "../..\n")
			f.put(t, f.WS+"/wt/.git", "gitdir: "+f.WS+"/.git/worktrees/wt\n")
		},
	},
	{
		id: "C29", what: "point a worktree to another repository", script: `echo "gitdir: $WS/evil" >"$WS/wt/.git" || { rm -f "$WS/wt/.git" && echo "gitdir: $WS/evil" >"$WS/wt/.git"; }`,
		arrange: func(t *testing.T, f *fixture) {
			f.put(t, f.WS+"/.git/worktrees/wt/HEAD", "ref: refs/heads/w\n")
			f.put(t, f.WS+"/.git/worktrees/wt/commondir", "../..\n")
			f.put(t, f.WS+"/wt/.git", "gitdir: "+f.WS+"/.git/worktrees/wt\n")
		}, after: func(t *testing.T, f *fixture, _ *outcome) {
			if b, err := os.ReadFile(f.WS + "/wt/.git"); err != nil || strings.Contains(string(b), "evil") {
				f.addHarm("the worktree's link is %q", b)
			}
		},
	},
	{
		id: "C30", what: "point a worktree's repository to another configuration", script: `echo "$WS/evil" >"$WS/.git/worktrees/wt/commondir"`,
		arrange: func(t *testing.T, f *fixture) {
			f.put(t, f.WS+"/.git/worktrees/wt/HEAD", "ref: refs/heads/w\n")
			f.put(t, f.WS+"/.git/worktrees/wt/commondir", "../..\n")
			f.put(t, f.WS+"/wt/.git", "gitdir: "+f.WS+"/.git/worktrees/wt\n")
		}, after: unchanged(".git/worktrees/wt/commondir", "../..\n"),
	},
}

// homeNames are files of the home folder that run later or grant access. The workspace is the home folder in
// these attempts.
var homeNames = []string{
	".bashrc", ".bash_profile", ".zshenv", ".ssh/authorized_keys", ".gitconfig", ".config/git/config", ".config/fish/config.fish",
	".config/systemd/user/x.service", ".config/autostart/x.desktop", ".claude/settings.json", ".holdfast/settings.json",
}

func homeAttempts() []attempt {
	var list []attempt
	for i, name := range homeNames {
		list = append(list, attempt{
			id: "H" + string(rune('0'+i/10)) + string(rune('0'+i%10)), what: "write ~/" + name + " where the home folder may be written",
			script:  `mkdir -p "$(dirname "$REALHOME/` + name + `")"; echo x >>"$REALHOME/` + name + `"`,
			folders: func(f *fixture) []string { return []string{f.Home} }, refused: true,
			settings: func(*fixture) *sandbox.Settings { return &sandbox.Settings{} },
			after: func(_ *testing.T, f *fixture, o *outcome) {
				if b, err := os.ReadFile(f.Home + "/" + name); err == nil && strings.Contains(string(b), "x\n") {
					f.addHarm("~/%s was written", name)
				}
			},
		})
	}
	return list
}

func protectMain(f *fixture) *sandbox.Settings {
	return &sandbox.Settings{DeniedPaths: []string{f.Secret}, ProtectedPaths: []string{f.WS + "/main.go", f.WS + "/deploy"}}
}

// createForbiddenName creates a forbidden name.
func createForbiddenName(p *outside) error {
	return anyOf(
		func() error { return os.WriteFile(p.WS+"/.mcp.json", []byte("{}"), 0o644) },
		func() error { return os.MkdirAll(p.WS+"/.claude/commands", 0o755) },
		func() error { return os.MkdirAll(p.WS+"/.holdfast/x", 0o755) },
	)
}

// noHook checks that a file does not exist.
func noHook(name string) func(*testing.T, *fixture, *outcome) {
	return func(_ *testing.T, f *fixture, _ *outcome) {
		if _, err := os.Lstat(f.WS + "/" + name); err == nil {
			f.addHarm("%s was made", name)
		}
	}
}

func unchanged(name, text string) func(*testing.T, *fixture, *outcome) {
	return func(_ *testing.T, f *fixture, _ *outcome) {
		if b, err := os.ReadFile(f.WS + "/" + name); err != nil || string(b) != text {
			f.addHarm("%s is %q (%v)", name, b, err)
		}
	}
}

// gitIn does what happens when the user, or Holdfast, runs git in a folder.
func gitIn(dir string) func(*testing.T, *fixture, *outcome) {
	return func(t *testing.T, f *fixture, _ *outcome) {
		args := []string{"-C", f.WS + "/" + dir, "-c", "safe.directory=*", "status"}
		if !f.box.Plain {
			args = append([]string{"-c", "safe.bareRepository=explicit", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"}, args...)
		}
		c := exec.Command("git", args...)
		c.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + f.Home, "GIT_CONFIG_NOSYSTEM=1"}
		out, err := c.CombinedOutput()
		t.Logf("git status: %s (%v)", out, err)
	}
}

// otherSandbox opens and closes another sandbox on the same workspace, while the probe waits.
func otherSandbox(f *fixture, ended <-chan struct{}) {
	if !f.waitsReady(ended) {
		return
	}
	if !f.box.Plain {
		f.secondSandbox()
	}
	_ = os.WriteFile(f.WS+"/go", nil, 0o666)
}

// removePlaceholders removes the placeholders in the workspace.
func removePlaceholders(f *fixture, ended <-chan struct{}) {
	if !f.waitsReady(ended) {
		return
	}
	for _, name := range []string{".mcp.json", ".claude", ".holdfast", ".vscode", ".idea"} {
		_ = os.Remove(f.WS + "/" + name)
	}
	_ = os.WriteFile(f.WS+"/go", nil, 0o666)
}

// exchange is the second half of an attempt that starts as a script.
var exchange = []attempt{{id: "C10x", try: func(p *outside) error {
	return unix.Renameat2(unix.AT_FDCWD, p.WS+"/e", unix.AT_FDCWD, p.WS+"/.git", unix.RENAME_EXCHANGE)
}}}
