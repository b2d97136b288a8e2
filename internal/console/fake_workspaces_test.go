package console_test

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// fakeWorkspaces are the workspaces of the fake, by name.
type fakeWorkspaces struct {
	by    map[string]doc
	built chan struct{} // closed: a build succeeds
}

func newFakeWorkspaces() *fakeWorkspaces {
	return &fakeWorkspaces{built: make(chan struct{}), by: map[string]doc{
		"blog": {
			"slug": "blog", "id": "b3f2a3ae7966d0b7", "created": "2026-11-22T09:52:39Z", "project": "/src/calendar", "agent": doc{"kind": "claude"},
			"limits": doc{"memory": "1g", "cpus": 2, "pids": 512, "disk": "20g"}, "network": doc{"mode": "proxy", "domains": []string{"api.anthropic.com"}},
			"folder": "/home/ann/.holdfast/workspaces/blog", "session_project": "workspace:blog:b3f2a3ae7966d0b7", "credentials": []string{"ANTHROPIC_API_KEY"},
			"container": doc{"name": "holdfast-e7dc6148-blog", "state": "running", "processes": 1, "outdated": "memory"},
		},
		"old": {"slug": "old", "folder": "/home/ann/.holdfast/workspaces/old", "problem": "the workspace is damaged"},
	}}
}

func (s *fakeWorkspaces) routes(f *fake, mux *http.ServeMux) {
	for route, h := range map[string]func(*http.Request, doc) (int, any){
		"GET /v1/workspaces": s.list, "POST /v1/workspaces": s.make, "GET /v1/workspaces/{slug}": s.get, "PATCH /v1/workspaces/{slug}": s.change,
		"DELETE /v1/workspaces/{slug}": s.remove, "POST /v1/workspaces/{slug}/{verb}": s.get,
		"GET /v1/workspaces/{slug}/usage":         fixed(doc{"slug": "blog", "home": doc{"bytes": 81920, "files": 12, "folders": 3}, "bytes": 81920, "limit": "20g", "over": false}),
		"GET /v1/workspaces/{slug}/files":         s.files,
		"PUT /v1/workspaces/{slug}/files/content": s.write,
		"GET /v1/images":                          fixed(doc{"items": []doc{{"id": "sha256:1", "tags": []string{"holdfast/workspace:scratch"}, "variant": "scratch", "version": "0.2.0", "binary": "ab", "protocol": 1, "size": 31457280, "created": "2026-11-22T09:00:00Z"}}}),
		"POST /v1/runs":                           func(*http.Request, doc) (int, any) { return 201, f.runs["build"] },
	} {
		mux.HandleFunc(route, f.json(h))
	}
	mux.HandleFunc("POST /v1/images", func(w http.ResponseWriter, r *http.Request) { s.build(f, w, r) })
}

func (s *fakeWorkspaces) list(*http.Request, doc) (int, any) {
	items := []doc{}
	for _, slug := range slices.Sorted(maps.Keys(s.by)) {
		items = append(items, s.by[slug])
	}
	return 200, doc{"items": items}
}

func (s *fakeWorkspaces) get(r *http.Request, _ doc) (int, any) {
	w, ok := s.by[r.PathValue("slug")]
	switch {
	case !ok:
		return 404, doc{"status": 404, "code": "not_found", "detail": "no such workspace", "hint": "holdfast workspace list"}
	case w["problem"] != nil:
		return 500, doc{"status": 500, "code": "corrupt", "detail": w["problem"]}
	}
	return 200, w
}

func (s *fakeWorkspaces) make(_ *http.Request, body doc) (int, any) {
	slug, _ := body["slug"].(string)
	switch {
	case strings.ToLower(slug) != slug:
		return 400, doc{"status": 400, "code": "usage", "detail": fmt.Sprintf("check name: invalid workspace name: %q has %q in it", slug, slug[0]), "hint": "use a to z, 0 to 9 and '-' in between", "field": "slug"}
	case s.by[slug] != nil:
		return 409, doc{"status": 409, "code": "conflict", "detail": "the workspace exists already", "hint": "holdfast workspace show " + slug}
	}
	body["container"], body["session_project"] = doc{"name": "holdfast-e7dc6148-" + slug, "state": "absent", "processes": 0}, "workspace:"+slug+":1"
	s.by[slug] = body
	return 201, body
}

func (s *fakeWorkspaces) change(r *http.Request, body doc) (int, any) {
	if limits, ok := body["limits"].(doc); ok && limits["memory"] == "1k" {
		return 400, doc{"status": 400, "code": "usage", "detail": "check settings workspace blog: settings that cannot be used: limits.memory: 1k is too little for anything to run", "hint": "give at least 64m", "field": "limits.memory"}
	}
	w := s.by[r.PathValue("slug")]
	maps.Copy(w, body)
	return 200, w
}

func (s *fakeWorkspaces) remove(r *http.Request, _ doc) (int, any) {
	delete(s.by, r.PathValue("slug"))
	return 200, doc{"deleted": r.PathValue("slug"), "entries": 12, "sessions_told": 1}
}

func (s *fakeWorkspaces) files(r *http.Request, _ doc) (int, any) {
	if r.URL.Query().Get("in") == "home" {
		return 200, doc{"items": []doc{{"name": "notes.md", "type": "file", "size": 5}}}
	}
	return 200, doc{"items": []doc{{"name": "src", "type": "folder"}, {"name": "odd\nname", "type": "file", "size": 12}, {"name": "out", "type": "link", "target": "/etc/passwd"}}}
}

func (s *fakeWorkspaces) write(r *http.Request, _ doc) (int, any) {
	switch {
	case r.Header.Get("Content-Type") != "application/octet-stream":
		return 415, doc{"status": 415, "code": "media_type", "detail": "the body's type is " + r.Header.Get("Content-Type")}
	case r.URL.Query().Get("in") == "home":
		return 507, doc{"status": 507, "code": "full", "detail": "the workspace has used up its disk", "hint": "holdfast workspace du"}
	}
	return 200, doc{"name": r.URL.Query().Get("path"), "type": "file", "size": 5}
}

// build reports the progress of a build. A Debian build ends when the test says so, a build with a
// missing base image fails, and any other build continues until the client disconnects.
func (s *fakeWorkspaces) build(f *fake, w http.ResponseWriter, r *http.Request) {
	raw, _ := io.ReadAll(r.Body)
	f.update(func() { f.calls = append(f.calls, "POST /v1/images "+string(raw)) })
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(event string, v doc) {
		b, _ := json.Marshal(v)
		_, _ = fmt.Fprintf(w, "event: %s\ndata: %s\n\n", event, b)
		_ = http.NewResponseController(w).Flush()
	}
	var spec struct{ Variant, Base string }
	_ = json.Unmarshal(raw, &spec)
	send("progress", doc{"stage": "package", "text": "npm: added @anthropic-ai/claude-code \x1b[2J\u202e"})
	send("progress", doc{"stage": "package", "bytes": 1048576, "total": 4194304})
	switch {
	case spec.Base != "":
		send("failed", doc{"status": 404, "code": "not_found", "detail": "the engine has no image " + spec.Base, "hint": "docker pull " + spec.Base})
	case spec.Variant == "debian":
		<-s.built
		send("image", doc{"id": "sha256:2", "tags": []string{"holdfast/workspace:debian"}, "variant": "debian", "version": "0.2.0", "size": 314572800})
	default:
		<-r.Context().Done()
	}
}
