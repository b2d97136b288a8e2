package workspace

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/internal/workspace/testimage"
)

// A container reaches only what its settings name, through the host, and keeps this access when the process
// that started the proxy ends.
func TestNetwork(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("sockets reach into containers on Linux only")
	}
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	home := t.TempDir()
	w := newWorkspaces(t, e, home)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "welcome") }))
	defer site.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(site.URL, "http://"), ":")
	s, err := w.Create(t.Context(), Settings{
		Slug: "blog", Image: image, Limits: Limits{Memory: 256 << 20},
		Network: Network{Mode: NetworkProxy, Domains: []string{"127.0.0.1:" + port}},
	})
	if err != nil {
		t.Fatal(err)
	}
	createSmall(t, w, "none", image)
	// HTTP clients ignore a proxy for addresses of this machine, so it is named explicitly.
	get := func(w *Workspaces, slug, url string) string {
		t.Helper()
		var out, failed bytes.Buffer
		exit, err := w.Exec(t.Context(), slug, ExecOptions{Args: []string{"holdfast", "get", url, "http://" + supervisor.Proxy}, Stdout: &out, Stderr: &failed})
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("%d %s%s", exit.Code, out.String(), failed.String())
	}
	held := ensure(t, w, "blog")
	if !held.Health.Proxy {
		t.Errorf("%+v", held.Health)
	}
	if got := get(w, "blog", site.URL); got != "0 200\nwelcome" {
		t.Errorf("%q", got)
	}
	if got := get(w, "blog", "http://example.com/"); !strings.HasPrefix(got, "0 403\n") {
		t.Errorf("%q", got)
	}
	if got := get(w, "none", site.URL); !strings.HasPrefix(got, "1 ") {
		t.Errorf("%q", got)
	}
	// Another process uses the container too, and the first one ends.
	second := newWorkspaces(t, e, home)
	also := ensure(t, second, "blog")
	if also.ID != held.ID {
		t.Error("another container")
	}
	_ = held.Close()
	for get(second, "blog", site.URL) != "0 200\nwelcome" { // until the test ends at most
		if t.Context().Err() != nil {
			t.Fatal("no process took over")
		}
	}
	// A file that the agent put in the socket's place is not followed.
	_ = also.Close()
	socket := filepath.Join(w.dirs(s).Run, supervisor.EgressName)
	target := filepath.Join(t.TempDir(), "target")
	if err := os.WriteFile(target, []byte("text"), 0o600); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(socket)
	if err := os.Symlink(target, socket); err != nil {
		t.Fatal(err)
	}
	if got := get(w, "blog", site.URL); got != "0 200\nwelcome" {
		t.Errorf("%q", got)
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "text" {
		t.Errorf("%q, %v", b, err)
	}
}
