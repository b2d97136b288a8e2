package saverule_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/saverule"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// world is a person's home and a project of theirs.
func world(t *testing.T) (e *env.Env, user, project string) {
	t.Helper()
	user, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project = filepath.Join(user, "src")
	for _, dir := range []string{filepath.Join(project, ".git"), filepath.Join(user, ".holdfast")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return &env.Env{Vars: []string{"HOME=" + user}, Managed: filepath.Join(user, "managed", "settings.json")}, user, project
}

func commandRequest(line, cwd string) approval.Request {
	r := policy.Request{Tool: "Bash", Operation: policy.OpCommand, Resource: line, Cwd: cwd}
	return approval.Request{
		ID: "q", Tool: "Bash", Cwd: cwd, Requests: []policy.Request{r},
		Scopes: []approval.Scope{{Text: "exactly this command"}, {Rule: "Bash(npm run build:*)", Text: "every command that begins so"}},
	}
}

func TestSavedAnswers(t *testing.T) {
	e, user, project := world(t)
	local, own := filepath.Join(project, ".holdfast", "settings.local.json"), filepath.Join(user, ".holdfast", "settings.json")
	for _, tt := range []struct {
		answer     approval.Answer
		rule, file string
	}{
		{approval.Answer{Decision: approval.AllowSession, SaveTo: layernames.Local}, "Bash(npm run build)", local},
		{approval.Answer{Decision: approval.AllowSession, Scope: "Bash(npm run build:*)", SaveTo: layernames.User}, "Bash(npm run build:*)", own},
		{approval.Answer{Decision: approval.DenySession, Scope: "Bash(npm:*)", SaveTo: layernames.Project}, "Bash(npm:*)", filepath.Join(project, ".holdfast", "settings.json")},
	} {
		q := commandRequest("npm run build", project)
		plan, err := saverule.NewPlan(e, saverule.Target{Folder: project}, &q, &tt.answer)
		if err != nil {
			t.Fatalf("%+v: %v", tt.answer, err)
		}
		if _, err := os.Stat(tt.file); err == nil {
			t.Errorf("%s is there before it is written", tt.file)
		}
		k, err := plan.Write()
		if err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(read(t, tt.file), "\n")
		if k.Rule != tt.rule || k.File != tt.file || tt.answer.Scope != tt.rule || !strings.Contains(lines[k.Line-1], tt.rule) || !k.Counts || !strings.Contains(k.Text, tt.file) {
			t.Errorf("%+v, the answer is %+v, the file\n%s", k, tt.answer, strings.Join(lines, "\n"))
		}
	}
}

// What cannot be written is refused before anything happens.
func TestRefused(t *testing.T) {
	e, user, project := world(t)
	exec := commandRequest("x *", project)
	exec.Scopes = exec.Scopes[:1]
	host := commandRequest("", project)
	host.Requests = []policy.Request{{Tool: "Bash", Resource: "unix:/run/x", Confined: true}}
	tree := commandRequest("", "/work")
	tree.Requests = []policy.Request{{Tool: "Bash", Operation: policy.OpWrite, Resource: "/data", Confined: true}}
	for name, tt := range map[string]struct {
		q     approval.Request
		a     approval.Answer
		place saverule.Target
		says  string
	}{
		"once":                        {commandRequest("ls", project), approval.Answer{Decision: approval.Allow, SaveTo: layernames.User}, saverule.Target{Folder: project}, "allow applies once and takes no scope"},
		"the administrator's":         {commandRequest("ls", project), approval.Answer{Decision: approval.AllowSession, SaveTo: layernames.Managed}, saverule.Target{Folder: project}, `cannot save rules in the settings layer "managed"`},
		"no rule":                     {exec, approval.Answer{Decision: approval.AllowSession, SaveTo: layernames.User}, saverule.Target{Folder: project}, "cannot be expressed as a rule"},
		"a rule about something else": {commandRequest("ls", project), approval.Answer{Decision: approval.AllowSession, Scope: "Bash(rm:*)", SaveTo: layernames.User}, saverule.Target{Folder: project}, "does not cover"},
		"no folder":                   {commandRequest("ls", project), approval.Answer{Decision: approval.AllowSession, SaveTo: layernames.Local}, saverule.Target{Folder: filepath.Join(project, "gone")}, "no such folder"},
		"the home itself":             {commandRequest("ls", user), approval.Answer{Decision: approval.AllowSession, SaveTo: layernames.Local}, saverule.Target{Folder: user}, "is not a project"},
		"a socket":                    {host, approval.Answer{Decision: approval.AllowSession, SaveTo: layernames.Local}, saverule.Target{Folder: project}, "cannot allow this permanently"},
		"a container's path":          {tree, approval.Answer{Decision: approval.AllowSession, SaveTo: layernames.User}, saverule.Target{Folder: project, Inside: true}, "inside the container"},
		"never in the sandbox":        {tree, approval.Answer{Decision: approval.DenySession, SaveTo: layernames.Local}, saverule.Target{Folder: project}, "permanent deny"},
		"a part of a project":         {commandRequest("ls", project), approval.Answer{Decision: approval.AllowSession, SaveTo: layernames.Local}, saverule.Target{Folder: sub(t, project), Inside: true}, "cannot see"},
	} {
		if _, err := saverule.NewPlan(e, tt.place, &tt.q, &tt.a); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", name, err, tt.says)
		}
	}
	if list, err := filepath.Glob(filepath.Join(user, "*", ".holdfast")); err != nil || list != nil {
		t.Errorf("%v %v", list, err)
	}
}

// In a workspace the project's files are those of its folder; a path is the container's.
func TestInAWorkspace(t *testing.T) {
	e, _, project := world(t)
	q := commandRequest("", "/work")
	q.Requests = []policy.Request{{Tool: "Bash", Operation: policy.OpWrite, Resource: "/home/agent/.cache", Confined: true}}
	place := saverule.Target{Folder: project, Inside: true}
	offer := saverule.Preview(e, place, &q)
	if len(offer.Files) != 2 || offer.Path != "/home/agent/.cache" || offer.Rules != nil || !strings.Contains(offer.Refused, "container") {
		t.Errorf("%+v", offer)
	}
	plan, err := saverule.NewPlan(e, place, &q, &approval.Answer{Decision: approval.AllowSession, SaveTo: layernames.Local})
	if err != nil {
		t.Fatal(err)
	}
	k, err := plan.Write()
	if err != nil || k.File != filepath.Join(project, ".holdfast", "settings.local.json") || !strings.Contains(read(t, k.File), `"/home/agent/.cache"`) {
		t.Errorf("%+v %v", k, err)
	}
}

// A host at a private address is written with the address: a rule for the name would follow it anywhere.
func TestAHostAndItsAddress(t *testing.T) {
	e, _, project := world(t)
	for resource, want := range map[string]string{"db.example": "db.example 10.0.0.7", "db.example:443": "db.example 10.0.0.7:443", "db.example:22": "db.example:22 10.0.0.7:22"} {
		q := commandRequest("", project)
		q.Tool, q.Scopes = "WebFetch", nil
		q.Requests = []policy.Request{{Tool: "WebFetch", Operation: policy.OpConnect, Resource: resource, Address: "10.0.0.7", Confined: true}}
		if o := saverule.Preview(e, saverule.Target{Folder: project}, &q); strings.Join(o.Hosts, " ") != want || o.Rules != nil {
			t.Errorf("%s: %+v", resource, o)
		}
		if _, err := saverule.NewPlan(e, saverule.Target{Folder: project}, &q, &approval.Answer{Decision: approval.AllowSession, Scope: "WebFetch", SaveTo: layernames.Local}); err == nil {
			t.Errorf("%s: a rule is taken", resource)
		}
		plan, err := saverule.NewPlan(e, saverule.Target{Folder: project}, &q, &approval.Answer{Decision: approval.AllowSession, SaveTo: layernames.Local})
		if err != nil {
			t.Fatalf("%s: %v", resource, err)
		}
		k, err := plan.Write()
		if err != nil || strings.Join(k.Hosts, " ") != want || !strings.Contains(k.Text, strings.Join(k.Hosts, " at ")) {
			t.Errorf("%s: %+v %v", resource, k, err)
		}
		for _, host := range k.Hosts {
			if !strings.Contains(read(t, k.File), `"`+host+`"`) {
				t.Errorf("%s is not in\n%s", host, read(t, k.File))
			}
		}
	}
}

// An agent in a workspace could have its person write through a link into what is not its project.
func TestALinkOutOfAWorkspace(t *testing.T) {
	e, user, project := world(t)
	if err := os.Symlink(filepath.Join(user, ".holdfast"), filepath.Join(project, ".holdfast")); err != nil {
		t.Fatal(err)
	}
	q := commandRequest("npm run build", "/work")
	for _, layer := range []string{layernames.Local, layernames.Project} {
		_, err := saverule.NewPlan(e, saverule.Target{Folder: project, Inside: true}, &q, &approval.Answer{Decision: approval.AllowSession, SaveTo: layer})
		if err == nil || !strings.Contains(err.Error(), "is a link") {
			t.Errorf("%s: %v", layer, err)
		}
	}
	if o := saverule.Preview(e, saverule.Target{Folder: project, Inside: true}, &q); len(o.Files) != 1 || o.Files[0].Layer != layernames.User {
		t.Errorf("%+v", o)
	}
}

func TestTargetOf(t *testing.T) {
	sessions := session.New(memory.New(), nil)
	space := func(_ context.Context, slug string) (string, error) { return "/spaces/" + slug, nil }
	open := func(id, project, cwd, owner string) {
		_, err := sessions.Create(t.Context(), session.Opened{SessionID: id, Project: project, CWD: cwd, Owner: owner})
		if err != nil {
			t.Fatal(err)
		}
	}
	open("plain", "p", "/src/a", "")
	open("tree", "p", "/src/a/.holdfast/worktrees/fix", "")
	open("plain.writer", "p", "/elsewhere", "plain")
	open("space", "workspace:blog:1", "/work", "")
	open("nowhere", "p", "", "")
	for id, want := range map[string]saverule.Target{
		"plain": {Folder: "/src/a"}, "tree": {Folder: "/src/a"}, "plain.writer": {Folder: "/src/a"}, "space": {Folder: "/spaces/blog", Inside: true},
	} {
		if got, err := saverule.TargetOf(t.Context(), sessions, id, space); err != nil || got != want {
			t.Errorf("%s: %+v %v, want %+v", id, got, err, want)
		}
	}
	if _, err := saverule.TargetOf(t.Context(), sessions, "nowhere", space); err == nil {
		t.Error("a session without a folder has settings")
	}
}

func sub(t *testing.T, project string) string {
	t.Helper()
	dir := filepath.Join(project, "part")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
