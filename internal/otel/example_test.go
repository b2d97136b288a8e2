package otel_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/otel"
	"github.com/holdfast-dev/holdfast/model/scripted"
)

// Spans and metrics are sent as configured by OTEL_*; the metrics are on a page as well.
func ExampleNew() {
	ctx := context.Background()
	tel, err := otel.New(ctx, &otel.Options{Env: func(string) string { return "" }}) // os.Getenv in a program
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	m, err := scripted.New([]byte(`steps: [{text: hello, usage: {input: 7, output: 2}}]`), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := agent.New(m, &agent.Options{LoopObservers: []agent.LoopObserver{tel}})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := a.Prompt(ctx, "hi"); err != nil {
		fmt.Println(err)
	}
	_ = a.Close()

	w := httptest.NewRecorder()
	tel.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(w.Body.String()) {
		if strings.HasPrefix(line, "gen_ai_client_token_usage_sum") || strings.HasPrefix(line, "holdfast_turns") {
			fmt.Print(line)
		}
	}
	if err := tel.Shutdown(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="scripted",gen_ai_request_model="play",gen_ai_token_type="input"} 7
	// gen_ai_client_token_usage_sum{gen_ai_operation_name="chat",gen_ai_provider_name="scripted",gen_ai_request_model="play",gen_ai_token_type="output"} 2
	// holdfast_turns_total{holdfast_turn_reason="completed"} 1
}
