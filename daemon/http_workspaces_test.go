package daemon

import (
	"bytes"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/auth"
	"github.com/holdfast-dev/holdfast/workspace"
)

// spacesSite serves workspaces, without an engine.
func spacesSite(t *testing.T) (*site, *workspace.Workspaces, string) {
	t.Helper()
	t.Setenv("DOCKER_HOST", "unix:///no/such/engine.sock")
	home := t.TempDir()
	var made *workspace.Workspaces
	w := newSite(t, func(o *Options) {
		var err error
		made, err = workspace.New(home, &workspace.Options{Sessions: o.Sessions})
		must(t, err)
		o.Workspaces = made
	})
	t.Cleanup(func() { must(t, made.Close()) })
	return w, made, home
}

// Workspaces are made, looked at, changed and deleted where no engine is: what needs one
// says so.
func TestWorkspaces(t *testing.T) {
	w, _, home := spacesSite(t)
	project := t.TempDir()
	var one Workspace
	a := w.want(201, &one, "POST", "/v1/workspaces", `{"slug":"blog","project":"`+project+`","agent":{"kind":"claude"},`+
		`"limits":{"memory":"1g","cpus":0.5},"network":{"mode":"proxy","domains":["api.anthropic.com"]},"credentials":["ANTHROPIC_API_KEY"]}`)
	if a.header.Get("Location") != "/v1/workspaces/blog" || one.Project != project || one.Agent.Kind != "claude" || one.Limits.Memory != "1g" ||
		one.Limits.PIDs != 512 || one.Limits.CPUs != 0.5 || !strings.Contains(one.Problem, "no container engine") || one.Hint == "" || one.Container != nil {
		t.Errorf("%s", a)
	}
	w.want(201, nil, "POST", "/v1/workspaces", `{"slug":"notes"}`)
	must(t, os.WriteFile(filepath.Join(home, "workspaces", "notes", "workspace.json"), []byte("{"), 0o600))
	var list listOf[Workspace]
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
	var gone deletedWorkspace
	w.want(200, &gone, "DELETE", "/v1/workspaces/blog?no_engine=true", "")
	if gone.Deleted != "blog" || gone.Entries == 0 {
		t.Errorf("%+v", gone)
	}
	w.want(404, nil, "GET", "/v1/workspaces/blog", "")
	if _, err := os.Stat(project); err != nil {
		t.Error("the project went with it")
	}
}

// What may change the daemon's machine needs more than what looks.
func TestWorkspaceScopes(t *testing.T) {
	w, _, _ := spacesSite(t)
	w.want(201, nil, "POST", "/v1/workspaces", `{"slug":"blog"}`)
	for _, tt := range []struct {
		needs              auth.Scope
		method, path, body string
	}{
		{auth.Admin, "POST", "/v1/workspaces", `{"slug":"x"}`},
		{auth.Admin, "PATCH", "/v1/workspaces/blog", `{}`},
		{auth.Admin, "DELETE", "/v1/workspaces/blog", ""},
		{auth.Admin, "POST", "/v1/images", `{}`},
		{auth.Run, "POST", "/v1/workspaces/blog/start", ""},
		{auth.Run, "POST", "/v1/workspaces/blog/stop", ""},
		{auth.Run, "GET", "/v1/workspaces/blog/files/content?in=home&path=x", ""},
		{auth.Run, "DELETE", "/v1/workspaces/blog/files?in=home&path=x", ""},
		{auth.Read, "GET", "/v1/workspaces/blog/files?in=home", ""},
		{auth.Read, "GET", "/v1/workspaces/blog/usage", ""},
		{auth.Read, "GET", "/v1/workspaces", ""},
	} {
		for _, s := range []auth.Scope{auth.Read, auth.Run} {
			refused := w.do(tt.method, tt.path, tt.body, w.as(s)).status == http.StatusForbidden
			if want := s != tt.needs; refused != want {
				t.Errorf("%s %s with %s: refused is %v", tt.method, tt.path, s, refused)
			}
		}
	}
}

// Files are read, written and removed below the folder that is named, and nothing goes
// through a link.
func TestWorkspaceFiles(t *testing.T) {
	w, _, home := spacesSite(t)
	w.want(201, nil, "POST", "/v1/workspaces", `{"slug":"blog"}`)
	base := filepath.Join(home, "workspaces", "blog", "home")
	const files = "/v1/workspaces/blog/files"
	at := func(path string) string { return files + "/content?in=home&path=" + url.QueryEscape(path) }
	octet := "Content-Type: " + octets
	var made WorkspaceFile
	w.want(200, &made, "PUT", at("notes/a b.txt"), "hello", octet)
	if made.Name != "a b.txt" || made.Size != 5 || made.Type != "file" {
		t.Errorf("%+v", made)
	}
	a := w.want(200, nil, "GET", at("notes/a b.txt"), "")
	if string(a.body) != "hello" || a.header.Get("Content-Type") != octets || !strings.HasPrefix(a.header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%s %v", a, a.header)
	}
	must(t, os.Symlink("/etc/passwd", filepath.Join(base, "link")))
	must(t, os.WriteFile(filepath.Join(base, "odd\n\xff"), nil, 0o600))
	must(t, os.WriteFile(filepath.Join(base, ".hidden"), nil, 0o600))
	must(t, syscall.Mkfifo(filepath.Join(base, "pipe"), 0o600))
	var list listOf[WorkspaceFile]
	w.want(200, &list, "GET", files+"?in=home&limit=2", "")
	all := list.Items
	for list.Next != "" {
		w.want(200, &list, "GET", files+"?in=home&limit=2&cursor="+url.QueryEscape(list.Next), "")
		all = append(all, list.Items...)
	}
	var types []string
	for _, f := range all {
		types = append(types, f.Type)
	}
	if want := []string{"link", "folder", "file", "other"}; !slices.Equal(types, want) {
		t.Errorf("%+v", all)
	}
	if all[2].Escaped == "" {
		t.Errorf("a name that is no text cannot be asked for: %+v", all[2])
	}
	w.want(200, nil, "GET", files+"/content?in=home&path="+all[2].Escaped, "")
	for _, tt := range []struct {
		status       int
		method, path string
		headers      []string
	}{
		{400, "GET", at("link"), nil},
		{400, "GET", at("pipe"), nil},
		{400, "GET", at("notes"), nil},
		{404, "GET", at("none"), nil},
		{403, "GET", at("../workspace.json"), nil},
		{400, "GET", files + "/content?in=etc&path=x", nil},
		{400, "GET", files + "/content?in=home", nil},
		{415, "PUT", at("x"), nil},
		{400, "PUT", at("notes/.."), []string{octet}},
		{400, "DELETE", files + "?in=home&path=.", nil},
	} {
		body := ""
		if tt.method == "PUT" {
			body = "{}"
		}
		w.want(tt.status, nil, tt.method, tt.path, body, tt.headers...).problem(t)
	}
	w.want(204, nil, "DELETE", files+"?in=home&path=link", "")
	w.want(204, nil, "DELETE", files+"?in=home&path=notes", "")
	if _, err := os.Stat("/etc/passwd"); err != nil {
		t.Error("a link was followed")
	}
	large := w.want(413, nil, "PUT", at("large"), string(bytes.Repeat([]byte("x"), maxFile+1)), octet)
	large.problem(t)
	if _, err := os.Lstat(filepath.Join(base, "large")); err == nil {
		t.Error("a file that is too large is there")
	}
	var u WorkspaceUsage
	w.want(200, &u, "GET", "/v1/workspaces/blog/usage", "")
	if u.Home.Files == 0 || u.Project == nil || u.Over || u.Limit != "20g" {
		t.Errorf("%+v", u)
	}
}

// A daemon without workspaces says so.
func TestNoWorkspaces(t *testing.T) {
	w := newSite(t)
	w.want(501, nil, "GET", "/v1/workspaces", "").problem(t)
	w.want(501, nil, "POST", "/v1/runs", `{"workspace":"blog","input":"x"}`).problem(t)
}
