package daemon

import (
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// page serves the console: its files, and its first page for every place that it
// shows itself: see place. What it is allowed to load is
// said by package auth.
func (a *service) page(w http.ResponseWriter, r *http.Request) {
	nothing := refuse(outcome.NotFound, "there is nothing at "+r.URL.Path, "GET /v1/openapi.json lists what there is")
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if a.o.Console == nil || name == "v1" || strings.HasPrefix(name, "v1/") || name == "metrics" {
		a.fail(w, r, nothing)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		a.fail(w, r, refuse(outcome.NoMethod, "there is no "+r.Method+" here", "Allow: GET, HEAD"))
		return
	}
	if place(a.o.Console, name) {
		name = "index.html"
	}
	if info, err := fs.Stat(a.o.Console, name); err != nil || info.IsDir() {
		a.fail(w, r, nothing)
		return
	}
	http.ServeFileFS(w, withPath(r, "/"+name), a.o.Console, name)
}

// place reports whether a path is one that the page shows itself: it has no dot, or it
// is in a folder that the files do not have, as the sessions are, whose ids may have one.
func place(files fs.FS, name string) bool {
	folder, _, deep := strings.Cut(name, "/")
	if name == "" || !strings.Contains(path.Base(name), ".") {
		return true
	}
	_, err := fs.Stat(files, folder)
	return deep && err != nil
}

// withPath is a request for another path: the one that asks for index.html by its
// name would be sent on to the folder.
func withPath(r *http.Request, p string) *http.Request {
	if strings.HasSuffix(p, "/index.html") {
		p = strings.TrimSuffix(p, "index.html")
	}
	out := r.Clone(r.Context())
	out.URL.Path = p
	return out
}
