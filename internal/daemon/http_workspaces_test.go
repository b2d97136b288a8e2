package daemon

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/workspace"
)

// newWorkspaceEnv serves workspaces without a container engine.
func newWorkspaceEnv(t *testing.T) (*httpEnv, *workspace.Workspaces, string) {
	t.Helper()
	t.Setenv("DOCKER_HOST", "unix:///no/such/engine.sock")
	home := t.TempDir()
	var made *workspace.Workspaces
	w := newHTTPEnv(t, func(o *Options) {
		var err error
		made, err = workspace.New(home, &workspace.Options{Sessions: o.Sessions})
		must(t, err)
		o.Workspaces = made
	})
	t.Cleanup(func() { must(t, made.Close()) })
	return w, made, home
}

// Workspaces are created, read, changed and deleted without a container engine; operations that
// need one report that.
func TestWorkspaces(t *testing.T) {
	w, _, home := newWorkspaceEnv(t)
	project := t.TempDir()
	var one routes.Workspace
	a := w.want(201, &one, "POST", "/v1/workspaces", `{"slug":"blog","project":"`+project+`","agent":{"kind":"claude"},`+
		`"limits":{"memory":"1g","cpus":0.5},"network":{"mode":"proxy","domains":["api.anthropic.com"]},"credentials":["ANTHROPIC_API_KEY"]}`)
	if a.header.Get("Location") != "/v1/workspaces/blog" || one.Project != project || one.Agent.Kind != "claude" || one.Limits.Memory != "1g" ||
		one.Limits.PIDs != 512 || one.Limits.CPUs != 0.5 || !strings.Contains(one.Problem, "no container engine") || one.Hint == "" || one.Container != nil {
		t.Errorf("%s", a)
	}
	w.want(201, nil, "POST", "/v1/workspaces", `{"slug":"notes"}`)
	must(t, os.WriteFile(filepath.Join(home, "workspaces", "notes", "workspace.json"), []byte("{"), 0o600))
	var list api.Page[routes.Workspace]
	w.want(200, &list, "GET", "/v1/workspaces", "")
	if len(list.Items) != 2 || list.Items[1].Slug != "notes" || list.Items[1].Problem == "" || list.Items[1].Agent != nil {
		t.Errorf("%+v", list)
	}
	w.want(200, &one, "PATCH", "/v1/workspaces/blog", `{"limits":{"disk":"none"},"network":{"mode":"none"},"credentials":[]}`)
	if one.Limits.Disk != "none" || one.Limits.Memory != "1g" || one.Network.Mode != "none" || one.Credentials != nil || one.Agent.Kind != "claude" {
		t.Errorf("%+v", one)
	}
	w.want(200, &one, "GET", "/v1/workspaces/blog", "")
	w.want(201, nil, "POST", "/v1/workspaces", `{"slug":"own"}`)
	for _, tt := range []struct {
		status             int
		method, path, body string
		code               string
	}{
		{409, "POST", "/v1/workspaces", `{"slug":"blog"}`, "conflict"},
		{400, "POST", "/v1/workspaces", `{"slug":"Blog"}`, "usage"},
		{400, "POST", "/v1/workspaces", `{"slug":"x","project":"relative"}`, "usage"},
		{400, "POST", "/v1/workspaces", `{"slug":"x","limits":{"memory":"much"}}`, "usage"},
		{400, "POST", "/v1/workspaces", `{"slug":"x","mount":[]}`, "usage"},
		{400, "PATCH", "/v1/workspaces/blog", `{"agent":{"kind":"nobody"}}`, "usage"},
		{400, "PATCH", "/v1/workspaces/blog", `{"agent":{"command":["x"]}}`, "usage"},
		{400, "PATCH", "/v1/workspaces/blog", `{"network":{"domains":["a.example"]}}`, "usage"},
		{400, "PATCH", "/v1/workspaces/blog", `{"limits":{"cpus":0}}`, "usage"},
		{400, "PATCH", "/v1/workspaces/blog", `{"limits":{"pids":0}}`, "usage"},
		{400, "PATCH", "/v1/workspaces/blog", `{"limits":{"memory":""}}`, "usage"},
		{400, "PATCH", "/v1/workspaces/blog", `{"model":null}`, "usage"},
		{404, "GET", "/v1/workspaces/none", "", "not_found"},
		{400, "GET", "/v1/workspaces/No", "", "usage"},
		{404, "PATCH", "/v1/workspaces/none", `{}`, "not_found"},
		{404, "GET", "/v1/workspaces/none/usage", "", "not_found"},
		{500, "GET", "/v1/workspaces/notes", "", "corrupt"},
		{503, "POST", "/v1/workspaces/own/start", "", "no_engine"},
		{503, "POST", "/v1/workspaces/blog/stop", "", "no_engine"},
		{503, "GET", "/v1/images", "", "no_engine"},
		{503, "POST", "/v1/images", `{}`, "no_engine"},
		{400, "POST", "/v1/runs", `{"workspace":"blog","cwd":"/tmp","input":"x"}`, "usage"},
		{404, "POST", "/v1/runs", `{"workspace":"none","input":"x"}`, "not_found"},
	} {
		if p := w.want(tt.status, nil, tt.method, tt.path, tt.body).problem(t); p.Code != tt.code {
			t.Errorf("%s %s: %+v, want %s", tt.method, tt.path, p, tt.code)
		}
	}
	var result routes.DeletedWorkspace
	w.want(200, &result, "DELETE", "/v1/workspaces/blog?no_engine=true", "")
	if result.Deleted != "blog" || result.Entries == 0 {
		t.Errorf("%+v", result)
	}
	w.want(404, nil, "GET", "/v1/workspaces/blog", "")
	if _, err := os.Stat(project); err != nil {
		t.Error("the project was deleted as well")
	}
}

// A settings problem names the field, so that a form can show it there.
func TestWorkspaceFields(t *testing.T) {
	w, _, _ := newWorkspaceEnv(t)
	for body, field := range map[string]string{
		`{"slug":"A"}`:                                                   "slug",
		`{"slug":"x","project":"relative"}`:                              "project",
		`{"slug":"x","project":"/no/such/folder"}`:                       "project",
		`{"slug":"x","image":":"}`:                                       "image",
		`{"slug":"x","agent":{"kind":"acp"}}`:                            "agent.command",
		`{"slug":"x","agent":{"kind":"no"}}`:                             "agent.kind",
		`{"slug":"x","model":"-x"}`:                                      "model",
		`{"slug":"x","limits":{"memory":"much"}}`:                        "limits.memory",
		`{"slug":"x","limits":{"memory":"1k"}}`:                          "limits.memory",
		`{"slug":"x","limits":{"cpus":-1}}`:                              "limits.cpus",
		`{"slug":"x","limits":{"pids":1}}`:                               "limits.pids",
		`{"slug":"x","limits":{"disk":"1"}}`:                             "limits.disk",
		`{"slug":"x","network":{"mode":"host"}}`:                         "network.mode",
		`{"slug":"x","network":{"mode":"proxy","domains":["a","://"]}}`:  "network.domains[1]",
		`{"slug":"x","mounts":[{"host":"/tmp","at":"/etc"}]}`:            "mounts[0].at",
		`{"slug":"x","mounts":[{"host":"/no/such/folder","at":"/mnt"}]}`: "mounts[0].host",
		`{"slug":"x","credentials":["A=b"]}`:                             "credentials[0]",
	} {
		if p := w.want(400, nil, "POST", "/v1/workspaces", body).problem(t); p.Field != field || p.Advice == "" || strings.Contains(p.Detail, "=b") {
			t.Errorf("%s: %+v, want the field %s", body, p, field)
		}
	}
	w.want(404, nil, "GET", "/v1/workspaces/x", "")
}

// Operations that can change the daemon's machine need more than the scope read.
func TestWorkspaceScopes(t *testing.T) {
	w, _, _ := newWorkspaceEnv(t)
	w.want(201, nil, "POST", "/v1/workspaces", `{"slug":"blog"}`)
	for _, tt := range []struct {
		needs              api.Scope
		method, path, body string
	}{
		{api.ScopeAdmin, "POST", "/v1/workspaces", `{"slug":"x"}`},
		{api.ScopeAdmin, "PATCH", "/v1/workspaces/blog", `{}`},
		{api.ScopeAdmin, "DELETE", "/v1/workspaces/blog", ""},
		{api.ScopeAdmin, "POST", "/v1/images", `{}`},
		{api.ScopeRun, "POST", "/v1/workspaces/blog/start", ""},
		{api.ScopeRun, "POST", "/v1/workspaces/blog/stop", ""},
		{api.ScopeRun, "GET", "/v1/workspaces/blog/files/content?in=home&path=x", ""},
		{api.ScopeRun, "DELETE", "/v1/workspaces/blog/files?in=home&path=x", ""},
		{api.ScopeRead, "GET", "/v1/workspaces/blog/files?in=home", ""},
		{api.ScopeRead, "GET", "/v1/workspaces/blog/usage", ""},
		{api.ScopeRead, "GET", "/v1/workspaces", ""},
	} {
		for _, s := range []api.Scope{api.ScopeRead, api.ScopeRun} {
			refused := w.do(tt.method, tt.path, tt.body, w.as(s)).status == http.StatusForbidden
			if want := s != tt.needs; refused != want {
				t.Errorf("%s %s with %s: rejected is %v", tt.method, tt.path, s, refused)
			}
		}
	}
}

// A daemon without workspaces reports that.
func TestNoWorkspaces(t *testing.T) {
	w := newHTTPEnv(t)
	w.want(501, nil, "GET", "/v1/workspaces", "").problem(t)
	w.want(501, nil, "POST", "/v1/runs", `{"workspace":"blog","input":"x"}`).problem(t)
}
