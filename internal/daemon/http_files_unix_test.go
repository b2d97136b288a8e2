//go:build unix

package daemon

import (
	"bytes"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
)

// Files are read, written and removed only below the named folder, and links are not followed.
func TestWorkspaceFiles(t *testing.T) {
	w, _, home := newWorkspaceEnv(t)
	w.want(201, nil, "POST", "/v1/workspaces", `{"slug":"blog"}`)
	base := filepath.Join(home, "workspaces", "blog", "home")
	const files = "/v1/workspaces/blog/files"
	at := func(path string) string { return files + "/content?in=home&path=" + url.QueryEscape(path) }
	octet := "Content-Type: " + octets
	var made routes.WorkspaceFile
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
	var list api.Page[routes.WorkspaceFile]
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
		t.Errorf("a name that is not UTF-8 has no escaped form: %+v", all[2])
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
		t.Error("a file above the limit was written")
	}
	var u routes.WorkspaceUsage
	w.want(200, &u, "GET", "/v1/workspaces/blog/usage", "")
	if u.Home.Files == 0 || u.Project == nil || u.OverLimit || u.Limit != "20g" {
		t.Errorf("%+v", u)
	}
}
