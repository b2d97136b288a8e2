package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/policy"
)

func TestExplain(t *testing.T) {
	root := plant(t, "ws/.git/hooks/", "ws/.git/config", "ws/secret/x", "ws/keep", "ws/src/", "ws/to-out -> ../out/f", "home/.netrc", "out/f", "data/")
	restricted := Settings{
		AllowedReadPaths: []string{"@/data", "@/home"}, DeniedPaths: []string{"@/ws/secret", "@/ws/none"}, ProtectedPaths: []string{"@/ws/keep"},
	}
	for _, tt := range []struct {
		layer   Settings
		path    string
		op      policy.Operation
		setting string // "-": it is allowed; "": built-in rule
		hint    string
	}{
		{Settings{}, "@/ws/src/x", policy.OpWrite, "-", ""},
		{Settings{}, "/etc/passwd", policy.OpRead, "-", ""},
		{Settings{}, "/etc/passwd", policy.OpWrite, fieldWritePaths, ""},
		{Settings{}, "@/ws/.git/hooks/pre-commit", policy.OpWrite, "", "decides what other programs do"},
		{Settings{}, "@/ws/.git/hooks", policy.OpRead, "-", ""},
		{Settings{}, "@/ws/.git/config.worktree", policy.OpWrite, "", "decides"},
		{Settings{}, "@/ws/.mcp.json", policy.OpWrite, "", "decides"},
		{Settings{}, "@/ws/.git", policy.OpWrite, "", "moved or removed"},
		{Settings{}, "@/ws/.git/index", policy.OpWrite, "-", ""},
		{Settings{}, "@/ws/to-out", policy.OpWrite, "-", ""}, // in /tmp, which is private to the command
		{Settings{}, "/tmp/x", policy.OpWrite, "-", ""},
		{Settings{}, "/dev/null", policy.OpWrite, "-", ""},
		{Settings{}, "/run/docker.sock", policy.OpRead, "", "allowedReadPaths"},
		{Settings{}, "relative", policy.OpRead, "-", ""},
		{restricted, "@/data/x", policy.OpRead, "-", ""},
		{restricted, "@/data/x", policy.OpWrite, fieldWritePaths, ""},
		{restricted, "/usr/bin/env", policy.OpRead, "-", ""},
		{restricted, "/srv/x", policy.OpRead, fieldReadPaths, "add the folder"},
		{restricted, "@/ws/src", policy.OpRead, "-", ""},
		{restricted, "@/ws/secret/x", policy.OpRead, fieldDeniedPaths, "remove @/ws/secret from"},
		{restricted, "@/ws/none", policy.OpWrite, fieldDeniedPaths, "remove @/ws/none from"},
		{restricted, "@/ws/keep", policy.OpWrite, fieldProtectedPaths, "remove @/ws/keep from"},
		{restricted, "@/home/.netrc", policy.OpRead, "", "contains secrets"},
		{Settings{AllowedWritePaths: []string{"@/data"}}, "/srv/x", policy.OpWrite, fieldWritePaths, "add the folder to allowedWritePaths"},
	} {
		p, err := planFor(t, root, testLayer{Settings: tt.layer})
		if err != nil {
			t.Fatal(err)
		}
		v := p.explain(strings.ReplaceAll(tt.path, "@", root), tt.op)
		switch {
		case v == nil && tt.setting != "-":
			t.Errorf("%s %s: nothing refuses it", tt.op, tt.path)
		case v == nil:
		case tt.setting == "-":
			t.Errorf("%s %s: %+v", tt.op, tt.path, v)
		case v.Setting != tt.setting || !strings.Contains(v.Hint, strings.ReplaceAll(tt.hint, "@", root)) || v.Op != verb(tt.op) || v.Kind != kindPath:
			t.Errorf("%s %s: %+v", tt.op, tt.path, v)
		case tt.setting != "" && len(tt.layer.AllowedReadPaths)+len(tt.layer.AllowedWritePaths) > 0 && tt.hint != "" && v.Origin.File != "settings.json":
			t.Errorf("%s %s: from %+v", tt.op, tt.path, v.Origin)
		}
	}
}

func TestDeniedProgramsAreHidden(t *testing.T) {
	root := plant(t, "ws/", "home/", "bin/tool", "bin/busy", "bin/applet -> busy", "bin/plain")
	for _, name := range []string{"tool", "busy"} {
		if err := os.Chmod(root+"/bin/"+name, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", root+"/bin")
	p, err := planFor(t, root, testLayer{Settings: Settings{DeniedCommands: []string{"tool", "applet", "plain"}, AdditionalWritePaths: []string{"@/bin"}}})
	if err != nil {
		t.Fatal(err)
	}
	if got := relative(root, p.policy.Hide); got != "bin/tool" {
		t.Errorf("hidden: %s", got)
	}
	if v := p.explain(root+"/bin/tool", policy.OpExec); v == nil || v.Setting != fieldDeniedCommands || v.Origin.Rule != "tool" {
		t.Errorf("got %+v", v)
	}
	if len(p.notices) != 1 || !strings.Contains(p.notices[0], "applet is "+root+"/bin/busy") {
		t.Errorf("notices: %q", p.notices)
	}
}

func TestNoticeHardLinks(t *testing.T) {
	root := plant(t, "ws/secret/x", "home/")
	if err := os.Link(root+"/ws/secret/x", root+"/ws/y"); err != nil {
		t.Fatal(err)
	}
	p, err := planFor(t, root, testLayer{Settings: Settings{DeniedPaths: []string{"@/ws/secret"}}})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.notices) != 1 || !strings.Contains(p.notices[0], "secret/x has 2 hard links") {
		t.Errorf("notices: %q", p.notices)
	}
}

func TestDescribe(t *testing.T) {
	root := plant(t, "ws/", "home/")
	p, err := planFor(t, root)
	if err != nil {
		t.Fatal(err)
	}
	s := &Sandbox{plan: p}
	for _, tt := range []struct {
		step string
		err  error
		want string
	}{
		{"execute /usr/bin/x", fs.ErrNotExist, "x or the interpreter in its first line does not exist"},
		{"execute /usr/bin/x", syscall.EACCES, "is not executable"},
		{"mount /w/.git", syscall.ENOENT, "changed while"},
		{"make namespaces", syscall.ENOSPC, "no resources left"},
		{"mount /proc", syscall.EPERM, "refused a part"},
	} {
		e := &kernel.StartError{Step: tt.step, Err: tt.err}
		if what, hint := s.describeStartError(e); !strings.Contains(what, tt.want) || hint == "" || errors.Unwrap(e) == nil {
			t.Errorf("%v: %q, %q", e, what, hint)
		}
	}
}
