package policy

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

func TestSubjectOfAPath(t *testing.T) {
	for _, c := range []struct {
		request Request
		path    string
		access  shellparse.Access
	}{
		{Request{Operation: OpRead, Resource: "/w/a"}, "/w/a", shellparse.Read},
		{Request{Operation: OpWrite, Resource: "/w/x/../a"}, "/w/a", shellparse.Write},
		{Request{Operation: OpExec, Resource: "a", Cwd: "/w"}, "/w/a", shellparse.Exec},
		{Request{Operation: OpRead, Resource: "a"}, "", shellparse.Read},
		{Request{Operation: OpRead, Resource: ""}, "", shellparse.Read},
		{Request{Operation: OpRead, Resource: "/a\x00b"}, "", shellparse.Read},
		{Request{Operation: OpSecret, Resource: "/w/key"}, "/w/key", shellparse.Read},
	} {
		s := newRequestView(c.request, "", nil)
		if len(s.paths) != 1 || s.paths[0].path != c.path || s.paths[0].access != c.access || s.paths[0].command != -1 || s.reading != nil {
			t.Errorf("%+v: %+v", c.request, s.paths)
		}
	}
	r := Request{Operation: OpExec, Resource: "/usr/bin/rm", NamedPath: "/w/rm", Line: "/w/rm -r '/a b'", Cwd: "/w"}
	s := newRequestView(r, "", nil)
	if last := s.paths[len(s.paths)-1]; s.reading == nil || last.path != "/w/rm" || last.real != "/usr/bin/rm" || last.access != shellparse.Exec || s.paths[0].path != "/w/rm" && s.paths[0].path != "/a b" {
		t.Errorf("%+v: %+v", r, s.paths)
	}
	for _, r := range []Request{fetch("x.org"), mcp("mcp__s__t"), {Tool: "Todo"}, {Operation: OpSecret, Resource: "TOKEN"}} {
		if s := newRequestView(r, "", nil); len(s.paths) != 0 || s.reading != nil {
			t.Errorf("%+v: %+v", r, s)
		}
	}
}

func TestSubjectOfACommand(t *testing.T) {
	resolve := func(p string) string { return strings.Replace(p, "/w/link", "/out", 1) }
	s := newRequestView(bash("cat link/a > b; cat link/../c < ~/d"), "/home/u", resolve)
	want := map[string]string{ // path as named: what it leads to
		"/w/link/a": "/out/a", "/w/b": "/w/b", "/w/c": "/c", "/home/u/d": "/home/u/d",
	}
	for _, p := range s.paths {
		if leads, ok := want[p.path]; !ok || leads != p.real {
			t.Errorf("%s leads to %s, want %q", p.path, p.real, leads)
		}
		delete(want, p.path)
	}
	if len(want) > 0 || len(s.lines) != 2 {
		t.Errorf("missing: %v, lines %q", want, s.lines)
	}
	if first, last := s.paths[0].command, s.paths[len(s.paths)-1].command; first != 0 || last != 1 {
		t.Errorf("the commands of the places are %d and %d", first, last)
	}
}

func TestPlain(t *testing.T) {
	for want, args := range map[string][]string{"p": nil, "p a": {"a"}, "p a b  c": {"a", "b  c"}, "p ": {""}} {
		list := make([]shellparse.Arg, len(args))
		for i, a := range args {
			list[i].Text = a
		}
		if got := plain("p", list); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAfterOptionsIsBounded(t *testing.T) {
	var args []shellparse.Arg
	for range 100 {
		args = append(args, shellparse.Arg{Text: "-x"}, shellparse.Arg{Text: "y"})
	}
	if n := len(afterOptions(args)); n != maxSubcommands {
		t.Errorf("%d guesses", n)
	}
	for _, args := range [][]shellparse.Arg{nil, {{Text: "push"}}, {{Text: "-"}}, {{Text: "-v"}}} {
		if n := len(afterOptions(args)); n != 0 {
			t.Errorf("%v: %d guesses", args, n)
		}
	}
}

// The paths that rules leave open are named, so that the mode may decide about them.
func TestUnmatchedRequests(t *testing.T) {
	r := rulesOf(t, "allow Bash(make:*)", "allow Edit(out/**)", "allow Read(//etc/hosts)")
	for line, want := range map[string]string{
		"make > a":                    "/w/a",
		"make > out/a":                "",
		"make > out/a 2> b":           "/w/b",
		"make && cat /etc/passwd":     "/etc/passwd",
		"make && cat /etc/hosts a":    "",
		"make && cat < /etc/shadow":   "/etc/shadow",
		"make < /etc/shadow":          "/etc/shadow",
		"make && cat .env":            "/w/.env",
		"make > $X":                   "?",
		"cat /etc/passwd":             "",
		"make -C /srv":                "",
		"make > /dev/null 2>&1":       "",
		"cat a > /dev/null; make > a": "/w/a",
	} {
		said := r.evaluate(newRequestView(bash(line), "/home/u", nil))
		var open []string
		for _, p := range said.open {
			if p.path == "" {
				p.path = "?"
			}
			open = append(open, p.path)
		}
		if got := strings.Join(open, " "); got != want {
			t.Errorf("%s leaves %q open, want %q (%+v)", line, got, want, said.Verdict)
		}
		if (said.by != nil) != (want != "") || want != "" && said.Effect != NoOpinion {
			t.Errorf("%s: %+v by %v", line, said.Verdict, said.by)
		}
	}
}
