package policy

import (
	"strings"
	"testing"
)

func TestKinds(t *testing.T) {
	w := environment{folders: []string{"/home/me/app", "/data"}, home: "/home/me", resolve: func(p string) string {
		return strings.Replace(p, "/home/me/app/link", "/etc", 1)
	}}
	read := func(p string) Request { return Request{Tool: "Read", Operation: OpRead, Resource: p, ReadOnly: true} }
	write := func(p string) Request { return Request{Tool: "Edit", Operation: OpWrite, Resource: p} }
	run := func(line string) Request {
		return Request{Tool: "Bash", Operation: OpCommand, Resource: line, Cwd: "/home/me/app"}
	}
	for _, c := range []struct {
		r    Request
		want actionKind
	}{
		{read("/home/me/app/a"), kindRead},
		{read("/data/a"), kindRead},
		{read("/data"), kindRead},
		{read("/database"), kindReadOutside},
		{read("/etc/hosts"), kindReadOutside},
		{read("/home/me/app/link/hosts"), kindReadOutside},
		{read(""), kindReadOutside},
		{read("/home/me/app/.env"), kindSecret},
		{read("/home/me/app/.env.local"), kindSecret},
		{read("/home/me/app/.env.example"), kindRead},
		{read("/home/me/.ssh/id_rsa"), kindSecret},
		{read("/home/me/app/id_rsa.pub"), kindRead},
		{read("/home/me/app/certs/server.KEY"), kindSecret},
		{read("/home/me/app/keyboard"), kindRead},
		{Request{Tool: "X", Operation: OpSecret, Resource: "token", ReadOnly: true}, kindSecret},
		{write("/home/me/app/a"), kindEdit},
		{write("/home/me/app/.env"), kindEdit},
		{write("/etc/hosts"), kindEditOutside},
		{write("/home/me/app/link/hosts"), kindEditOutside},
		{write(""), kindEditOutside},
		{write("relative"), kindEditOutside},
		{Request{Tool: "Edit", Operation: OpWrite, Resource: "/home/me/app/a", ReadOnly: true}, kindEdit},
		{Request{Tool: "X", Operation: OpExec, Resource: "/home/me/app/x", ReadOnly: true}, kindCommand},
		{Request{Tool: "WebFetch", Operation: OpConnect, Resource: "a.org", ReadOnly: true}, kindFetch},
		{Request{Tool: "Send", Operation: OpConnect, Resource: "a.org"}, kindNetwork},
		{Request{Tool: "WebFetch", Operation: OpConnect, Resource: "a.org:443", Confined: true, ReadOnly: true}, kindReach},
		{Request{Tool: "mcp__s__t", Operation: OpMCP, Resource: "s/t"}, kindMCP},
		{Request{Tool: "mcp__s__t", Operation: OpMCP, Resource: "s/t", ReadOnly: true}, kindRead},
		{Request{Tool: "TodoRead", ReadOnly: true}, kindRead},
		{Request{Tool: "TodoWrite"}, kindOther},
		{Request{Tool: "X", Operation: "an operation of tomorrow"}, kindOther},
		{run("ls"), kindSafe},
		{run("git status"), kindSafe},
		{run("cat a b | grep x"), kindSafe},
		{run("ls 2>/dev/null"), kindSafe},
		{run("cat /data/a"), kindSafe},
		{run("cat /etc/hosts"), kindReadOutside},
		{run("cat link/hosts"), kindReadOutside},
		{run("cd /etc && ls"), kindReadOutside},
		{run("cat .env"), kindSecret},
		{run("grep x ~/.aws/credentials"), kindSecret},
		{run("make"), kindCommand},
		{run("echo x > a"), kindCommand},
		{run("ls; make"), kindCommand},
		{run("$X"), kindUnclear},
		{run("ls; $X"), kindUnclear},
		{run("ls '"), kindUnclear},
		{run("rm -f $X"), kindUnclear},
		{run("echo x > $X"), kindUnclear},
		{run(""), kindCommand},
		{run("sudo ls"), kindDangerous},
		{run("$X; sudo ls"), kindDangerous},
		{Request{Tool: "Bash", Operation: OpCommand, Resource: "ls", ReadOnly: true, Cwd: "/etc"}, kindReadOutside},
		{Request{Tool: "Bash", Operation: OpCommand, Resource: "ls", ReadOnly: true}, kindUnclear},
	} {
		got := w.kind(w.viewOf(c.r))
		if got.kind == kindReadOutside && c.r.Operation == OpCommand && c.r.Cwd == "" {
			continue // where it would run is not known: either word asks
		}
		if got.kind != c.want {
			t.Errorf("%s %q (%s): %s (%s), want %s", c.r.Tool, c.r.Resource, c.r.Cwd, got.kind, got.why, c.want)
		}
	}
}

func TestWithoutFoldersEverythingIsInside(t *testing.T) {
	var w environment
	for _, c := range []struct {
		r    Request
		want actionKind
	}{
		{Request{Tool: "Read", Operation: OpRead, Resource: "/etc/hosts", ReadOnly: true}, kindRead},
		{Request{Tool: "Read", Operation: OpRead, ReadOnly: true}, kindRead},
		{Request{Tool: "Edit", Operation: OpWrite, Resource: "/etc/hosts"}, kindEdit},
		{Request{Tool: "Read", Operation: OpRead, Resource: "/x/.env", ReadOnly: true}, kindSecret},
	} {
		if got := w.kind(w.viewOf(c.r)); got.kind != c.want {
			t.Errorf("%s %q: %s, want %s", c.r.Tool, c.r.Resource, got.kind, c.want)
		}
	}
}

func TestKindsSayWhy(t *testing.T) {
	for line, want := range map[string]string{
		"sudo ls": "another user's rights", "cat .env": ".env", "$X": "$X", "echo x > /etc/passwd": "outside the session's folders",
	} {
		s := dangerEnvironment.viewOf(Request{Tool: "Bash", Operation: OpCommand, Resource: line, Cwd: "/home/me/app"})
		v := ModeAuto.judge(s, dangerEnvironment.kind(s))
		if v.Effect == Allow || !strings.Contains(v.Reason, want) {
			t.Errorf("%s: %s because %s", line, v.Effect, v.Reason)
		}
	}
}
