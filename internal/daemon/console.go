package daemon

import (
	"io/fs"
	"net/http"
	"path"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// serveConsole serves the console: its files, and index.html for the paths that the console handles itself
// (see isConsolePath). Package auth sets its Content-Security-Policy.
func (a *service) serveConsole(w http.ResponseWriter, r *http.Request) {
	notFound := refuse(outcome.NotFound, "not found: "+r.URL.Path, "GET /v1/openapi.json lists all routes")
	name := strings.TrimPrefix(path.Clean("/"+r.URL.Path), "/")
	if a.o.Console == nil || name == "v1" || strings.HasPrefix(name, "v1/") || name == "metrics" {
		a.fail(w, r, notFound)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		a.fail(w, r, refuse(outcome.NoMethod, "the method "+r.Method+" is not allowed here", "Allow: GET, HEAD"))
		return
	}
	if isConsolePath(a.o.Console, name) {
		name = "index.html"
	}
	if info, err := fs.Stat(a.o.Console, name); err != nil || info.IsDir() {
		a.fail(w, r, notFound)
		return
	}
	http.ServeFileFS(w, withPath(r, "/"+name), a.o.Console, name)
}

// isConsolePath reports whether the console itself handles a path: it has no dot, or it is in a folder
// without files, such as sessions, because session ids may contain a dot.
func isConsolePath(files fs.FS, name string) bool {
	folder, _, deep := strings.Cut(name, "/")
	if name == "" || !strings.Contains(path.Base(name), ".") {
		return true
	}
	_, err := fs.Stat(files, folder)
	return deep && err != nil
}

// withPath returns the request with another path. A request for index.html by name would be
// redirected to its folder.
func withPath(r *http.Request, p string) *http.Request {
	if strings.HasSuffix(p, "/index.html") {
		p = strings.TrimSuffix(p, "index.html")
	}
	out := r.Clone(r.Context())
	out.URL.Path = p
	return out
}
