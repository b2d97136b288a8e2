package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// session is a long one: questions, tool rounds, results of about 1.4 KB.
func session(n int) []transcript.Encoded {
	text := strings.Repeat("func main() {\n\tfmt.Println(\"hello\")\n}\n", 36)
	items := make([]transcript.Encoded, 0, n)
	for i := range n {
		id := fmt.Sprintf("call_%d", i/2)
		it := transcript.Item{ID: fmt.Sprintf("item-%d", i), Role: transcript.RoleTool, Parts: []transcript.Part{
			transcript.ToolResult{UseID: id, Content: []transcript.Part{transcript.Text{Text: text}}},
		}}
		if i%2 == 0 {
			input, _ := json.Marshal(map[string]string{"path": "main.go", "content": text})
			use := append([]byte(`{"role":"assistant","content":null,"tool_calls":[`), appendCall(nil, literal(id), []byte(`"Write"`), input, nil)...)
			it = transcript.Item{
				ID: it.ID, Role: transcript.RoleAssistant, Finish: transcript.FinishToolUse, Usage: &transcript.Usage{Input: 1},
				Parts:  []transcript.Part{transcript.ToolUse{ID: id, Name: "Write", Input: input}},
				Native: &transcript.Native{API: apiName, JSON: append(use, "]}"...)},
			}
		}
		items = append(items, it.MustEncode())
	}
	return items
}

func BenchmarkEncode10000(b *testing.B) {
	m := open(b, "gpt-5.1", nil)
	items := session(10_000)
	b.ReportAllocs()
	for b.Loop() {
		for _, e := range items {
			if _, err := m.Encode(e); err != nil {
				b.Fatal(err)
			}
		}
	}
}

func BenchmarkBody10000(b *testing.B) {
	m := open(b, "gpt-5.1", nil)
	req := &model.Request{System: "be brief"}
	for _, e := range session(10_000) {
		w, err := m.Encode(e)
		if err != nil {
			b.Fatal(err)
		}
		req.Messages = append(req.Messages, w)
	}
	b.Run("assemble", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			m.body(req)
		}
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			body := m.body(req)
			n, err := io.Copy(struct{ io.Writer }{io.Discard}, body.Reader())
			if err != nil || n != body.Size() {
				b.Fatal(n, err)
			}
			b.SetBytes(n)
		}
	})
}

// BenchmarkCall compares a call through the SDK with a bare client that reads
// the same answer line by line.
func BenchmarkCall(b *testing.B) {
	var answer strings.Builder
	event := func(data string) { fmt.Fprintf(&answer, "data: %s\n\n", data) }
	event(`{"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"Bash","arguments":""}}]}}]}`)
	for _, piece := range []string{`{\"comm`, `and\": \"tr`, `ue\"}`} {
		event(`{"model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"` + piece + `"}}]}}]}`)
	}
	event(`{"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`)
	event(`{"model":"m","choices":[],"usage":{"prompt_tokens":5,"completion_tokens":9}}`)
	event(`[DONE]`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, answer.String())
	}))
	defer server.Close()
	m := open(b, "gpt-5.1", &Options{BaseURL: server.URL, APIKey: "sk-made-up"})
	req := &model.Request{System: "be brief"}
	for _, e := range session(40) {
		w, err := m.Encode(e)
		if err != nil {
			b.Fatal(err)
		}
		req.Messages = append(req.Messages, w)
	}
	b.Run("adapter", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, err := range m.Stream(context.Background(), req) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("bare", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			body := m.body(req).Bytes()
			res, err := http.Post(server.URL+"/chat/completions", "application/json", bytes.NewReader(body))
			if err != nil {
				b.Fatal(err)
			}
			for scan := bufio.NewScanner(res.Body); scan.Scan(); {
				data, ok := bytes.CutPrefix(scan.Bytes(), []byte("data: "))
				if !ok {
					continue
				}
				if data[0] != '{' {
					break
				}
				var e struct{ Model string }
				if err := json.Unmarshal(data, &e); err != nil {
					b.Fatal(err)
				}
			}
			_ = res.Body.Close()
		}
	})
}
