package daemon

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

var fakeMetrics = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	_, _ = w.Write([]byte("up 1\n"))
})

// The document has exactly the existing routes, each with a unique id.
func TestDocument(t *testing.T) {
	w := newHTTPEnv(t, func(o *Options) { o.Metrics = fakeMetrics })
	var doc openDoc
	w.want(200, &doc, "GET", "/v1/openapi.json", "")
	ids := map[string]bool{}
	n := 0
	for i := range w.api.table {
		rt := &w.api.table[i]
		op, ok := doc.Paths[rt.Path][strings.ToLower(rt.Method)]
		if !ok || op.ID != rt.ID || ids[rt.ID] {
			t.Errorf("%s: in the document it is %+v", rt.Key(), op)
		}
		ids[rt.ID] = true
	}
	for _, place := range doc.Paths {
		n += len(place)
	}
	if n != len(w.api.table) {
		t.Errorf("the document has %d operations, but there are %d routes", n, len(w.api.table))
	}
	var schema map[string]json.RawMessage
	if w.want(200, &schema, "GET", "/v1/ws.schema.json", ""); schema["$schema"] == nil {
		t.Error("the schema of the WebSocket has no title")
	}
}

// The linter Redocly reports no problem in the document.
func TestRedocly(t *testing.T) {
	tools := os.Getenv("HOLDFAST_WEBTOOLS")
	if tools == "" {
		testneed.Need(t, `eval "$(scripts/services env webtools)" makes this run`)
	}
	w := newHTTPEnv(t, func(o *Options) { o.Metrics = fakeMetrics })
	doc, err := w.api.document()
	must(t, err)
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "openapi.json"), doc, 0o600))
	bin := filepath.Join(tools, "node_modules", ".bin")
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "redocly"), "lint", "openapi.json", "--format=json")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	out, err := cmd.Output()
	var report struct {
		Totals   struct{ Errors, Warnings int }
		Problems []struct {
			Rule     string `json:"ruleId"`
			Severity string
			Message  string
			Location []struct{ Pointer string }
		}
	}
	if e := json.Unmarshal(out, &report); e != nil {
		t.Fatalf("redocly: %v, %v\n%s", err, e, out)
	}
	for _, p := range report.Problems {
		t.Errorf("%s: %s: %s %+v", p.Severity, p.Rule, p.Message, p.Location)
	}
	if err != nil || report.Totals.Errors+report.Totals.Warnings > 0 {
		t.Errorf("%v, %+v", err, report.Totals)
	}
}

// A request without a credential, or with one for something else, is rejected on every route.
func TestCredentials(t *testing.T) {
	w := newHTTPEnv(t, func(o *Options) { o.Metrics = fakeMetrics })
	fill := strings.NewReplacer("{id}", "x", "{grant}", "g")
	for i := range w.api.table {
		rt := &w.api.table[i]
		if rt.serve == nil {
			continue
		}
		path := fill.Replace(rt.Path)
		bare := w.do(rt.Method, path, "", "Authorization: ")
		if rt.Open {
			if bare.status >= 400 && rt.Method == http.MethodGet {
				t.Errorf("%s is open, but answers %s", rt.Key(), bare)
			}
			continue
		}
		if bare.status != 401 || bare.problem(t).Code != "unauthenticated" {
			t.Errorf("%s without a credential: %s", rt.Key(), bare)
		}
		for scope := range w.tokens {
			got := w.do(rt.Method, path, "", w.as(scope))
			may := rt.Scope == "" || scope == rt.Scope || scope == "admin"
			if refused := got.status == 403 && strings.Contains(string(got.body), "scope"); refused == may {
				t.Errorf("%s with the scope %s: %s", rt.Key(), scope, got)
			}
		}
		if got := w.do(rt.Method, path, "", w.as("admin"), "Origin: https://evil.example"); got.status != 403 {
			t.Errorf("%s from another origin: %s", rt.Key(), got)
		}
	}
	for _, path := range []string{"/v1", "/v1/", "/v1/nothing", "/v1/sessions/a/b/c", "/metrics/x"} {
		if got := w.do("GET", path, "", "Authorization: "); got.status != 401 && got.status != 404 {
			t.Errorf("%s without a credential: %s", path, got)
		}
	}
}

// Unknown paths, and known paths with other methods.
func TestNoRoute(t *testing.T) {
	w := newHTTPEnv(t)
	for _, path := range []string{"/", "/index.html", "/v1", "/v1/", "/v1/nothing", "/v1/sessions/", "/metrics", "/favicon.ico"} {
		if p := w.want(404, nil, "GET", path, "").problem(t); p.Code != "not_found" || p.Instance != path {
			t.Errorf("%s: %+v", path, p)
		}
	}
	methods := map[string][]string{}
	for i := range w.api.table {
		if rt := &w.api.table[i]; rt.serve != nil {
			methods[rt.Path] = append(methods[rt.Path], rt.Method)
		}
	}
	fill := strings.NewReplacer("{id}", "x", "{grant}", "g")
	for path, list := range methods {
		for _, m := range []string{"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"} {
			if slices.Contains(list, m) {
				continue
			}
			got := w.want(405, nil, m, fill.Replace(path), "")
			allow := strings.Split(got.header.Get("Allow"), ", ")
			if got.problem(t).Code != "method_not_allowed" || !slices.Contains(allow, list[0]) || slices.Contains(allow, m) {
				t.Errorf("%s %s: Allow %v, want %v", m, path, allow, list)
			}
		}
	}
}
