package otel_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/otel"
)

// A tool name that a model made up does not break the page.
func TestPageQuotes(t *testing.T) {
	tel, err := otel.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	const name = "a\"b\\c\nd} 1"
	tel.Observe("s", event.ToolStarted{Use: "u", Tool: name})
	tel.Observe("s", event.ToolFinished{Use: "u", Tool: name})
	tel.Observe("s", event.ToolStarted{Use: "v", Tool: "\xff"})
	tel.Observe("s", event.ToolFinished{Use: "v", Tool: "\xff"})
	w := httptest.NewRecorder()
	tel.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/plain; version=0.0.4") {
		t.Fatalf("%d %v", w.Code, w.Header())
	}
	for _, label := range []string{`gen_ai_tool_name="a\"b\\c\nd} 1"`, "gen_ai_tool_name=\"\uFFFD\""} {
		if !strings.Contains(w.Body.String(), label) {
			t.Errorf("no %s in\n%s", label, w.Body)
		}
	}
}

func TestPageErrors(t *testing.T) {
	tel, err := otel.New(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(method string) int {
		w := httptest.NewRecorder()
		tel.Handler().ServeHTTP(w, httptest.NewRequest(method, "/metrics", nil))
		return w.Code
	}
	if got := ask(http.MethodPost); got != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", got)
	}
	if err := tel.Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := ask(http.MethodGet); got != http.StatusServiceUnavailable {
		t.Errorf("after Shutdown: %d", got)
	}
}
