package approval_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
)

func TestGrant(t *testing.T) {
	bash := newRequest("q", "npm run test")
	write := approval.New(
		[]policy.Request{{Tool: "Write", Operation: policy.OpWrite, Resource: "/w/a*.txt", Cwd: "/w", Base: "absent"}},
		asked("u", "Write"), approval.RequestOptions{ID: "q"})
	twice := approval.New([]policy.Request{command("ls"), command("ls")}, asked("u", "Bash"), approval.RequestOptions{ID: "q"})
	bare := approval.New(nil, asked("u", "Todo"), approval.RequestOptions{ID: "q"})
	for name, c := range map[string]struct {
		q    approval.Request
		a    approval.Answer
		want policy.Grant
	}{
		"exactly this command, in its folder": {
			bash,
			approval.Answer{Decision: approval.AllowSession, Actor: "ann", At: start},
			policy.Grant{Effect: policy.Allow, Tool: "Bash", Operation: policy.OpCommand, Resource: "npm run test", Cwd: "/w", Question: "q", By: "ann", At: start},
		},
		"a scope, and then nothing else": {
			bash,
			approval.Answer{Decision: approval.AllowSession, Scope: "Bash(npm run test:*)"},
			policy.Grant{Effect: policy.Allow, Tool: "Bash", Scope: "Bash(npm run test:*)", Dir: "/w", Question: "q"},
		},
		"a denial": {
			bash,
			approval.Answer{Decision: approval.DenySession, Scope: "Bash(npm:*)", Actor: "bob"},
			policy.Grant{Effect: policy.Deny, Tool: "Bash", Scope: "Bash(npm:*)", Dir: "/w", Question: "q", By: "bob"},
		},
		"a file, by its letters and wherever the tool stood": {
			write,
			approval.Answer{Decision: approval.DenySession},
			policy.Grant{Effect: policy.Deny, Tool: "Write", Operation: policy.OpWrite, Resource: "/w/a*.txt", Question: "q"},
		},
		"the same thing twice": {
			twice,
			approval.Answer{Decision: approval.AllowSession},
			policy.Grant{Effect: policy.Allow, Tool: "Bash", Operation: policy.OpCommand, Resource: "ls", Cwd: "/w", Question: "q"},
		},
		"a tool that touches nothing": {
			bare, approval.Answer{Decision: approval.AllowSession}, policy.Grant{Effect: policy.Allow, Tool: "Todo", Question: "q"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if d := cmp.Diff(c.want, must(c.q.Grant(c.a))(t)); d != "" {
				t.Error(d)
			}
		})
	}
}

// A decision that applies once creates no grant.
func TestNoGrantForSingleCall(t *testing.T) {
	for _, d := range []approval.Decision{approval.Allow, approval.Deny, "", "maybe"} {
		q := newRequest("q", "ls")
		g, err := q.Grant(approval.Answer{Decision: d})
		wantErr(t, err, approval.ErrInvalid)
		if d := cmp.Diff(policy.Grant{}, g); d != "" {
			t.Error(d)
		}
	}
}

// The guards apply a grant as written.
func TestGuardsApplyGrant(t *testing.T) {
	for _, scope := range []string{"", "Bash(npm run test:*)"} {
		n := 0
		guards := must(policy.New(&policy.Config{NewID: func() string { n++; return "g" }, Folders: []string{"/w"}}))(t)
		q := newRequest("q", "npm run test")
		if got := guards.Guard("Bash").Judge(t.Context(), q.Requests, nil); got.Effect != policy.Ask {
			t.Fatalf("%+v", got)
		}
		g := must(q.Grant(approval.Answer{Decision: approval.AllowSession, Scope: scope, At: start}))(t)
		c := must(guards.Check(policy.Change{Grant: &g}))(t)
		if err := guards.Apply(c); err != nil {
			t.Fatal(err)
		}
		if got := guards.Guard("Bash").Judge(t.Context(), q.Requests, nil); got.Effect != policy.Allow {
			t.Errorf("scope %q: %+v", scope, got)
		}
		if got := guards.Guard("Bash").Judge(t.Context(), []policy.Request{command("npm run build")}, nil); got.Effect != policy.Ask {
			t.Errorf("scope %q covers another command: %+v", scope, got)
		}
	}
}

func TestSandboxGrantBound(t *testing.T) {
	q := newRequest("q", "npm run test")
	q.Requests[0].Confined = true
	for d, want := range map[approval.Decision]bool{approval.AllowSession: true, approval.DenySession: false} {
		for _, scope := range []string{"", "Bash(npm run test:*)"} {
			g, err := q.Grant(approval.Answer{Decision: d, Scope: scope})
			if err != nil || g.Confined != want {
				t.Errorf("%s %q: %+v, %v", d, scope, g, err)
			}
		}
	}
}

// A scope must cover the whole request; otherwise it is invalid (A16).
func TestScopeCoversRequest(t *testing.T) {
	ask := func(tool string, home string, reqs ...policy.Request) approval.Request {
		return approval.New(reqs, asked("u", tool), approval.RequestOptions{ID: "q", Cwd: "/w", Home: home})
	}
	file := func(op policy.Operation, path string) policy.Request {
		return policy.Request{Tool: "Write", Operation: op, Resource: path}
	}
	for name, c := range map[string]struct {
		q     approval.Request
		scope string
		ok    bool
	}{
		"the command":                 {ask("Bash", "", command("touch a")), "Bash(touch:*)", true},
		"another command":             {ask("Bash", "", command("touch a")), "Bash(rm:*)", false},
		"the tool":                    {ask("Bash", "", command("touch a")), "Bash", true},
		"one of two commands":         {ask("Bash", "", command("touch a && rm b")), "Bash(touch:*)", false},
		"the first of two requests":   {ask("Bash", "", command("touch a"), command("rm b")), "Bash(touch:*)", false},
		"a longer command":            {ask("Bash", "", command("git push")), "Bash(git push origin:*)", false},
		"the folder":                  {ask("Write", "", file(policy.OpWrite, "/w/src/a")), "Edit(src/**)", true},
		"another folder":              {ask("Write", "", file(policy.OpWrite, "/w/src/a")), "Edit(lib/**)", false},
		"reading, for a change":       {ask("Write", "", file(policy.OpWrite, "/w/src/a")), "Read(src/**)", false},
		"below the home":              {ask("Write", "/h", file(policy.OpWrite, "/h/a")), "Edit(~/a)", true},
		"below a home that is unsaid": {ask("Write", "", file(policy.OpWrite, "/h/a")), "Edit(~/a)", false},
	} {
		for _, d := range []approval.Decision{approval.AllowSession, approval.DenySession} {
			err := c.q.Check(approval.Answer{Decision: d, Scope: c.scope})
			if d == approval.DenySession && name == "one of two commands" { // a denial of one denies the line
				c.ok = true
			}
			if (err == nil) != c.ok {
				t.Errorf("%s, %s: %v", name, d, err)
			}
			if err != nil {
				wantErr(t, err, approval.ErrInvalid)
			}
		}
	}
}

// Offered scopes cover the request.
func TestOfferedScopesAreUsable(t *testing.T) {
	for _, line := range []string{"npm run test", "npm test > out.txt", "git push origin main", "cat a | sort", "touch a"} {
		q := newRequest("q", line)
		for _, s := range q.Scopes {
			if err := q.Check(approval.Answer{Decision: approval.AllowSession, Scope: s.Rule}); err != nil {
				t.Errorf("%s: %+v: %v", line, s, err)
			}
		}
	}
}
