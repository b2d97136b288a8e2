package policy

import (
	"strings"
	"testing"
)

// linked resolves paths below /var/run to /run and below /home/u/dot to /data/dot.
func linked(p string) string {
	for from, to := range map[string]string{"/var/run": "/run", "/home/u/dot": "/data/dot", "/w/secrets": "/data/secrets", "/w/.env": "/w/env.local"} {
		if rest, ok := under(from, p); ok {
			return strings.TrimSuffix(to+"/"+rest, "/")
		}
	}
	return p
}

// Tools name paths without links. A deny of a folder by the name of a link must apply to the folder
// that the link leads to.
func TestForbiddenFoldersThatAreLinks(t *testing.T) {
	for _, c := range []struct {
		rule, path string
		want       Effect
	}{
		{"deny Read(//var/run/**)", "/run/x", Deny},
		{"deny Read(//var/run/)", "/run/x/y", Deny},
		{"deny Read(//var/run/*.sock)", "/run/a.sock", Deny},
		{"deny Read(//var/run/*.sock)", "/run/a.pid", NoOpinion},
		{"ask Edit(~/dot/**)", "/data/dot/x", Ask},
		{"deny Read(./secrets/**)", "/data/secrets/a", Deny},
		{"deny Read(secrets/**)", "/data/secrets/a", NoOpinion}, // at any depth: known by the name that a tool gives
		{"deny Glob(//var/run/**)", "/run/x", Deny},
		{"deny Read(//var/run/**)", "/var/run/x", Deny},
		{"deny Read(//var/run/**)", "/running/x", NoOpinion},
		{"allow Read(//var/run/**)", "/run/x", NoOpinion}, // a permission is for both names
	} {
		r, problems, err := RuleOptions{Home: "/home/u", Cwd: "/w", Resolve: linked}.Compile(sources(c.rule))
		if err != nil || len(problems) > 0 {
			t.Fatal(c.rule, problems, err)
		}
		for _, request := range []Request{write(c.path), bash("echo > " + c.path)} {
			if strings.HasPrefix(c.rule, "deny Glob") {
				request = Request{Tool: "Glob", Operation: OpRead, Resource: c.path}
			}
			if got := r.Evaluate(request).Effect; got != c.want {
				t.Errorf("%s on %s %s: %q, want %q", c.rule, request.Tool, request.Resource, got, c.want)
			}
		}
	}
}

func TestPatchesAndGlobsFollowLinks(t *testing.T) {
	g, err := New(&Config{Mode: ModeBypass, Folders: []string{"/w"}, Resolve: linked})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Apply(Change{Patch: &Patch{Mode: "read", Deny: []string{"/var/run/**"}}}); err != nil {
		t.Fatal(err)
	}
	if d := g.Guard("Read").Judge(t.Context(), []Request{read("/run/x")}, nil); d.Effect != Deny {
		t.Errorf("a patch: %s because %s", d.Effect, d.Reason)
	}
	p, err := PathRules{
		Deny: []string{"/etc/x", "/var/run/**"}, Origins: []Origin{{Rule: "a"}, {Rule: "b", File: "f"}}, Cwd: "/w", Resolve: linked,
	}.ForbidPolicy()
	if err != nil {
		t.Fatal(err)
	}
	if v := p.Evaluate(read("/run/x")); v.Effect != Deny || v.Rule.File != "f" {
		t.Errorf("%+v", v)
	}
	if text := detail(p); strings.Count(text, "/var/run") != 1 {
		t.Errorf("it is shown as %q", text)
	}
}

// A file that is a link is denied by its name or by its target, and allowed only if both are.
func TestRequestsOfLinks(t *testing.T) {
	env := Request{Tool: "Read", Operation: OpRead, Resource: "/w/env.local", NamedPath: "/w/.env"}
	judgeAll(t, []string{"deny Read(.env)"}, []judged{{env, Deny}, {read("/w/env.local"), NoOpinion}})
	judgeAll(t, []string{"deny Read(env.local)"}, []judged{{env, Deny}})
	judgeAll(t, []string{"allow Read(.env)"}, []judged{{env, NoOpinion}})
	judgeAll(t, []string{"allow Read(env.local)"}, []judged{{env, NoOpinion}})
	judgeAll(t, []string{"allow Read(env.local)", "allow Read(.env)"}, []judged{{env, NoOpinion}}) // one rule for both
	judgeAll(t, []string{"allow Read({.env,env.local})"}, []judged{{env, Allow}})
	w := environment{folders: []string{"/w"}}
	if k := w.kind(w.viewOf(env)).kind; k != kindSecret {
		t.Errorf("a link with a secret's name is %q", k)
	}
	out := Request{Tool: "Edit", Operation: OpWrite, Resource: "/w/a", NamedPath: "/elsewhere/a"}
	if k := w.kind(w.viewOf(out)).kind; k != kindEditOutside {
		t.Errorf("a link outside is %q", k)
	}
}
