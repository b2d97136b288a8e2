package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// A run sends its spans and metrics to the address in the environment, without printing anything about it.
func TestRunSendsTelemetry(t *testing.T) {
	var mu sync.Mutex
	got := map[string][]byte{}
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got[r.URL.Path] = append(got[r.URL.Path], b...)
	}))
	defer s.Close()
	dir := t.TempDir()
	write(t, dir, "play.yaml", streamPlay)
	write(t, dir, "a.txt", "x")
	p, _, errs := program(t, dir, "run", "-q", "-m", "scripted/play.yaml", "--session-id", "s", "go")
	p.Env = append(p.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+s.URL)
	Run(t.Context(), p)
	for path, want := range map[string][]string{
		"/v1/traces":  {"invoke_agent", "chat play", "execute_tool Read", "holdfast.denied"},
		"/v1/metrics": {"gen_ai.client.token.usage", "holdfast.decisions"},
	} {
		for _, w := range want {
			if !bytes.Contains(got[path], []byte(w)) {
				t.Errorf("%s: no %s in %d bytes; stderr %s", path, w, len(got[path]), errs)
			}
		}
	}
	if strings.Contains(errs.String(), "telemetry") {
		t.Errorf("stderr %s", errs)
	}
}

// A missing collector is reported once at the end and changes nothing else.
func TestRunWithoutCollector(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "play.yaml", "steps: [{text: well done}]")
	p, out, errs := program(t, dir, "run", "-m", "scripted/play.yaml", "go")
	p.Env = append(p.Env, "OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1")
	if code := Run(t.Context(), p); code != 0 || !strings.Contains(out.String(), "well done") {
		t.Errorf("exit code %d, %s", code, out)
	}
	if s := errs.String(); strings.Count(s, "telemetry was not delivered") != 1 || !strings.Contains(s, "hint:") {
		t.Errorf("stderr %s", s)
	}
}

func TestRunRefusesTelemetry(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "play.yaml", "steps: [{text: well done}]")
	p, out, errs := program(t, dir, "run", "-m", "scripted/play.yaml", "go")
	p.Env = append(p.Env, "OTEL_TRACES_EXPORTER=otlp", "OTEL_EXPORTER_OTLP_PROTOCOL=grpc")
	if code := Run(t.Context(), p); code != outcome.Usage.Exit || strings.Contains(out.String(), "well done") {
		t.Errorf("exit code %d, %s", code, out)
	}
	if s := errs.String(); !strings.Contains(s, "OTEL_EXPORTER_OTLP_PROTOCOL=grpc") || !strings.Contains(s, "hint: set it to http/protobuf") {
		t.Errorf("stderr %s", s)
	}
}

// Sub-agents and teammates are observed, too.
func TestRunSendsTelemetryOfSubagents(t *testing.T) {
	var mu sync.Mutex
	var got []byte
	s := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		got = append(got, b...)
	}))
	defer s.Close()
	for name, more := range map[string][]string{"with a store": nil, "without": {"--no-session-persistence"}} { // which has no teammates
		t.Run(name, func(t *testing.T) {
			mu.Lock()
			got = nil
			mu.Unlock()
			dir := t.TempDir()
			write(t, dir, "play.yaml", `steps:
  - {when: {user: "Count them"}, text: three}
  - {when: {user: "Wait for me"}, text: I wait}
  - when: {user: go}
    tool_uses: [{tool: Agent, input: {description: count, prompt: Count them, subagent_type: general-purpose}}]
  - tool_uses: [{tool: TeamCreate, input: {team_name: crew}}]
  - tool_uses: [{tool: Agent, input: {description: wait, prompt: Wait for me, name: bob}}]
  - text: done
  - text: still done
  - text: done for good
  - text: and that is all
`)
			p, out, errs := program(t, dir, append([]string{"run", "-q", "-m", "scripted/play.yaml", "--permission-mode", "bypassPermissions"}, append(more, "go")...)...)
			p.Env = append(p.Env, "OTEL_EXPORTER_OTLP_ENDPOINT="+s.URL)
			if code := Run(t.Context(), p); code != 0 {
				t.Fatalf("exit code %d: %s %s", code, out, errs)
			}
			mu.Lock()
			defer mu.Unlock()
			for _, w := range []string{"invoke_agent general-purpose", "invoke_agent bob"} {
				if !bytes.Contains(got, []byte(w)) && (more == nil || !strings.HasSuffix(w, "bob")) {
					t.Errorf("no %s in %d bytes; %s %s", w, len(got), out, errs)
				}
			}
		})
	}
}
