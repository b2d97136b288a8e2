package policy

import (
	"strings"
	"testing"
)

func TestKinds(t *testing.T) {
	w := world{folders: []string{"/home/me/app", "/data"}, home: "/home/me", resolve: func(p string) string {
		return strings.Replace(p, "/home/me/app/link", "/etc", 1)
	}}
	read := func(p string) Request { return Request{Tool: "Read", Operation: OpRead, Resource: p, ReadOnly: true} }
	write := func(p string) Request { return Request{Tool: "Edit", Operation: OpWrite, Resource: p} }
	run := func(line string) Request {
		return Request{Tool: "Bash", Operation: OpCommand, Resource: line, Cwd: "/home/me/app"}
	}
	for _, c := range []struct {
		r    Request
		want Kind
	}{
		{read("/home/me/app/a"), KindRead},
		{read("/data/a"), KindRead},
		{read("/data"), KindRead},
		{read("/database"), KindReadOutside},
		{read("/etc/hosts"), KindReadOutside},
		{read("/home/me/app/link/hosts"), KindReadOutside},
		{read(""), KindReadOutside},
		{read("/home/me/app/.env"), KindSecret},
		{read("/home/me/app/.env.local"), KindSecret},
		{read("/home/me/app/.env.example"), KindRead},
		{read("/home/me/.ssh/id_rsa"), KindSecret},
		{read("/home/me/app/id_rsa.pub"), KindRead},
		{read("/home/me/app/certs/server.KEY"), KindSecret},
		{read("/home/me/app/keyboard"), KindRead},
		{Request{Tool: "X", Operation: OpSecret, Resource: "token", ReadOnly: true}, KindSecret},
		{write("/home/me/app/a"), KindEdit},
		{write("/home/me/app/.env"), KindEdit},
		{write("/etc/hosts"), KindEditOutside},
		{write("/home/me/app/link/hosts"), KindEditOutside},
		{write(""), KindEditOutside},
		{write("relative"), KindEditOutside},
		{Request{Tool: "Edit", Operation: OpWrite, Resource: "/home/me/app/a", ReadOnly: true}, KindEdit},
		{Request{Tool: "X", Operation: OpExec, Resource: "/home/me/app/x", ReadOnly: true}, KindCommand},
		{Request{Tool: "WebFetch", Operation: OpConnect, Resource: "a.org", ReadOnly: true}, KindFetch},
		{Request{Tool: "Send", Operation: OpConnect, Resource: "a.org"}, KindNetwork},
		{Request{Tool: "WebFetch", Operation: OpConnect, Resource: "a.org:443", Confined: true, ReadOnly: true}, KindReach},
		{Request{Tool: "mcp__s__t", Operation: OpMCP, Resource: "s/t"}, KindMCP},
		{Request{Tool: "mcp__s__t", Operation: OpMCP, Resource: "s/t", ReadOnly: true}, KindRead},
		{Request{Tool: "TodoRead", ReadOnly: true}, KindRead},
		{Request{Tool: "TodoWrite"}, KindOther},
		{Request{Tool: "X", Operation: "an operation of tomorrow"}, KindOther},
		{run("ls"), KindSafe},
		{run("git status"), KindSafe},
		{run("cat a b | grep x"), KindSafe},
		{run("ls 2>/dev/null"), KindSafe},
		{run("cat /data/a"), KindSafe},
		{run("cat /etc/hosts"), KindReadOutside},
		{run("cat link/hosts"), KindReadOutside},
		{run("cd /etc && ls"), KindReadOutside},
		{run("cat .env"), KindSecret},
		{run("grep x ~/.aws/credentials"), KindSecret},
		{run("make"), KindCommand},
		{run("echo x > a"), KindCommand},
		{run("ls; make"), KindCommand},
		{run("$X"), KindUnclear},
		{run("ls; $X"), KindUnclear},
		{run("ls '"), KindUnclear},
		{run("rm -f $X"), KindUnclear},
		{run("echo x > $X"), KindUnclear},
		{run(""), KindCommand},
		{run("sudo ls"), KindDangerous},
		{run("$X; sudo ls"), KindDangerous},
		{Request{Tool: "Bash", Operation: OpCommand, Resource: "ls", ReadOnly: true, Cwd: "/etc"}, KindReadOutside},
		{Request{Tool: "Bash", Operation: OpCommand, Resource: "ls", ReadOnly: true}, KindUnclear},
	} {
		got := w.kind(w.subject(c.r))
		if got.kind == KindReadOutside && c.r.Operation == OpCommand && c.r.Cwd == "" {
			continue // where it would run is not known: either word asks
		}
		if got.kind != c.want {
			t.Errorf("%s %q (%s): %s (%s), want %s", c.r.Tool, c.r.Resource, c.r.Cwd, got.kind, got.why, c.want)
		}
	}
}

func TestWithoutFoldersEverythingIsInside(t *testing.T) {
	var w world
	for _, c := range []struct {
		r    Request
		want Kind
	}{
		{Request{Tool: "Read", Operation: OpRead, Resource: "/etc/hosts", ReadOnly: true}, KindRead},
		{Request{Tool: "Read", Operation: OpRead, ReadOnly: true}, KindRead},
		{Request{Tool: "Edit", Operation: OpWrite, Resource: "/etc/hosts"}, KindEdit},
		{Request{Tool: "Read", Operation: OpRead, Resource: "/x/.env", ReadOnly: true}, KindSecret},
	} {
		if got := w.kind(w.subject(c.r)); got.kind != c.want {
			t.Errorf("%s %q: %s, want %s", c.r.Tool, c.r.Resource, got.kind, c.want)
		}
	}
}

func TestKindsSayWhy(t *testing.T) {
	for line, want := range map[string]string{
		"sudo ls": "another user's rights", "cat .env": ".env", "$X": "$X", "echo x > /etc/passwd": "outside the session's folders",
	} {
		s := dangerWorld.subject(Request{Tool: "Bash", Operation: OpCommand, Resource: line, Cwd: "/home/me/app"})
		v := ModeAuto.judge(s, dangerWorld.kind(s))
		if v.Effect == Allow || !strings.Contains(v.Reason, want) {
			t.Errorf("%s: %s because %s", line, v.Effect, v.Reason)
		}
	}
}
