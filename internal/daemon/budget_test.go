package daemon

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
)

const costlyScript = `
price: {input: 10, output: 10}
steps:
  - {text: a dear answer, usage: {input: 200000}}
`

// A budget that the last answer exceeds is reported to clients of the WebSocket and of HTTP.
func TestExceededBudgetIsReported(t *testing.T) {
	w := beginDaemon(t, map[string]string{"writer": costlyScript}, nil)
	c := w.ann()
	strategy := `{"name":"one","version":"1","agents":{"writer":{"type":"llm"}},"flow":"writer"}`
	c.send(fmt.Sprintf(`{"type":"prepare_run","runId":"ws","cwd":%q,"strategy":%s,"maxBudgetUsd":1}`, w.cwd, strategy))
	c.until("run_prepared")
	c.send(`{"type":"start_run","runId":"ws","input":"go"}`)
	m := c.until("strategy_error")
	if text := fmt.Sprint(m["error"]); !strings.Contains(text, "budget: the run has cost 2 of 1 US dollars") {
		t.Errorf("the WebSocket says %v", m)
	}

	token := w.token(api.ScopeRead, api.ScopeRun)
	call := func(method, path, body string) map[string]any {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), method, "http://"+w.address+path, strings.NewReader(body))
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		res, err := http.DefaultClient.Do(r)
		must(t, err)
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		must(t, err)
		var doc map[string]any
		must(t, json.Unmarshal(b, &doc))
		return doc
	}
	call(http.MethodPost, "/v1/runs", fmt.Sprintf(`{"session_id":"http","cwd":%q,"strategy":%s,"max_budget_usd":1,"start":false}`, w.cwd, strategy))
	follower := w.ann()
	follower.send(`{"type":"subscribe","runId":"http"}`)
	call(http.MethodPost, "/v1/runs/http/start", `{"input":"go"}`)
	follower.until("strategy_error")
	info := call(http.MethodGet, "/v1/runs/http", "")
	if info["status"] != "failed" || !strings.Contains(fmt.Sprint(info["error"]), "budget: the run has cost 2 of 1 US dollars") {
		t.Errorf("HTTP says %v", info)
	}
	if bad := call(http.MethodPost, "/v1/runs", fmt.Sprintf(`{"cwd":%q,"max_budget_usd":-2}`, w.cwd)); !strings.Contains(fmt.Sprint(bad["detail"]), "max_budget_usd") {
		t.Errorf("a negative budget: %v", bad)
	}
}
