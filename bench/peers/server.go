//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"maps"
	"net"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// server is the model server of all programs. It requests a number of calls of the program's own
// shell tool, which run `true 1`, `true 2` and so on, and then answers with a text. A request
// without a shell tool, such as one for a title, gets the text as its answer and is not counted.
type server struct {
	url string

	mu       sync.Mutex
	calls    int    // number of calls still to request
	text     string // the last answer
	arrived  []time.Time
	answered time.Time
	bytes    int      // size of all bodies, including those of requests that are not counted
	prompts  []string // of the counted requests: tools, system prompt and messages
	all      int      // number of requests
	onAsk    func()
	flow     *flow // how to stream the last answer; nil sends it at once
}

// flow is an answer of many small parts that is streamed at a constant rate.
type flow struct {
	tokens, rate int           // the number of tokens, and how many to send in a second
	began, ended chan struct{} // closed at the first token and after the last
	stop         chan struct{} // ends the answer early
	sent, bytes  int           // valid after ended is closed
}

func newFlow(tokens, rate int) *flow {
	return &flow{tokens: tokens, rate: rate, began: make(chan struct{}), ended: make(chan struct{}), stop: make(chan struct{})}
}

// proseWords are words of four letters. With a space each is a token.
var proseWords = strings.Fields("then they send this word over into that file with some more text from each part when both were done well and here most work must stay open")

// parts yields the tokens of the flow, each at its time. It flushes each token to the client before it waits.
func (f *flow) parts(w http.ResponseWriter) iter.Seq[string] {
	return func(yield func(string) bool) {
		defer close(f.ended)
		began := time.Now()
		close(f.began)
		for i := range f.tokens {
			word := proseWords[i%len(proseWords)] + " "
			if i%60 == 59 {
				word = "end.\n\n"
			}
			if !yield(word) {
				return
			}
			_ = http.NewResponseController(w).Flush() // fails if the client has ended
			f.sent, f.bytes = i+1, f.bytes+len(word)
			select {
			case <-f.stop:
				return
			case <-time.After(time.Until(began.Add(time.Duration(i+1) * time.Second / time.Duration(f.rate)))):
			}
		}
	}
}

func newServer() (*server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &server{url: "http://" + l.Addr().String()}
	go func() { _ = http.Serve(l, s) }() // until the program ends
	return s, nil
}

// stream resets the server for one answer that is streamed.
func (s *server) stream(f *flow) {
	s.begin(0, "", nil)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flow = f
}

// begin resets the server for a new run.
func (s *server) begin(calls int, text string, onAsk func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.text, s.onAsk = calls, text, onAsk
	s.arrived, s.prompts, s.bytes, s.all, s.flow = nil, nil, 0, 0, nil
}

// requests returns the number of requests with a shell tool.
func (s *server) requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.arrived)
}

// request is the counted part of a request, in all three protocols.
type request struct {
	Model             string          `json:"model"`
	Tools             json.RawMessage `json:"tools"`
	System            json.RawMessage `json:"system"`            // Anthropic
	Instructions      json.RawMessage `json:"instructions"`      // OpenAI
	SystemInstruction json.RawMessage `json:"systemInstruction"` // Gemini
	Messages          json.RawMessage `json:"messages"`
	Input             json.RawMessage `json:"input"`
	Contents          json.RawMessage `json:"contents"`
	Stream            bool            `json:"stream"`
}

func (r *request) prompt() string {
	var b strings.Builder
	for _, part := range []json.RawMessage{r.Tools, r.System, r.Instructions, r.SystemInstruction, r.Messages, r.Input, r.Contents} {
		b.Write(part)
	}
	// A cache mark is not part of what the model reads.
	return regexp.MustCompile(`,?"cache_control":\{[^}]*\}`).ReplaceAllString(b.String(), "")
}

// shells has the name of each shell tool, with the input that it takes.
var shells = []struct{ name, input string }{
	{"Bash", `{"command":"true","description":"Do nothing"}`},
	{"bash", `{"command":"true","description":"Do nothing"}`},
	{"exec_command", `{"cmd":"true"}`},
	{"shell_command", `{"command":"true"}`},
	{"run_shell_command", `{"command":"true","description":"Do nothing"}`},
}

func (s *server) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(req.Body)
	now := time.Now()
	if err != nil || req.Method != http.MethodPost {
		http.NotFound(w, req)
		return
	}
	var wire func(w io.Writer, id, name, input string, text iter.Seq[string], stream bool)
	stream := strings.Contains(req.URL.Path, ":streamGenerateContent")
	switch path := req.URL.Path; {
	case strings.HasSuffix(path, "/messages"):
		wire = anthropic
	case strings.HasSuffix(path, "/responses"):
		wire = openai
	case stream, strings.HasSuffix(path, ":generateContent"):
		wire = gemini
	case strings.HasSuffix(path, "/count_tokens"):
		fmt.Fprintf(w, `{"input_tokens":%d}`, len(body)/4)
		return
	default:
		http.NotFound(w, req)
		return
	}
	var r request
	if err := json.Unmarshal(body, &r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	stream = stream || r.Stream
	name, input := "", ""
	for _, tool := range shells {
		if strings.Contains(string(r.Tools), `"name":"`+tool.name+`"`) {
			name, input = tool.name, tool.input
			break
		}
	}
	if r.Model == "bench" { // the control, which has a shell tool but declares none
		name, input = shells[0].name, shells[0].input
	}
	s.mu.Lock()
	s.all++
	s.bytes += len(body)
	id, text := fmt.Sprintf("call_%06d", s.all), slices.Values([]string{s.text})
	if name != "" {
		s.arrived, s.prompts = append(s.arrived, now), append(s.prompts, r.prompt())
		if s.onAsk != nil {
			s.onAsk()
		}
		if s.calls--; s.calls < 0 {
			name = ""
			if s.flow != nil {
				text, s.flow = s.flow.parts(w), nil
			}
		}
	}
	// Gemini CLI ends a turn in which the same call is repeated.
	input = strings.Replace(input, `"true"`, fmt.Sprintf(`"true %d"`, s.all), 1)
	if stream {
		w.Header().Set("Content-Type", "text/event-stream")
	} else {
		w.Header().Set("Content-Type", "application/json")
	}
	s.answered = time.Now()
	s.mu.Unlock()
	wire(w, id, name, input, text, stream)
}

// event writes one event of a stream.
func event(w io.Writer, name string, data any) {
	b, _ := json.Marshal(data) // maps, texts and numbers
	if name != "" {
		fmt.Fprintf(w, "event: %s\n", name)
	}
	fmt.Fprintf(w, "data: %s\n\n", b)
}

type object = map[string]any
type list = []any

// whole joins the parts of a text.
func whole(parts iter.Seq[string]) string { return strings.Join(slices.Collect(parts), "") }

func anthropic(w io.Writer, id, name, input string, text iter.Seq[string], stream bool) {
	start, stop := object{"type": "text", "text": ""}, "end_turn"
	if name != "" {
		start, stop = object{"type": "tool_use", "id": "toolu_" + id, "name": name, "input": object{}}, "tool_use"
	}
	message := object{"id": "msg_" + id, "type": "message", "role": "assistant", "model": "claude-sonnet-4-5", "content": list{},
		"stop_reason": nil, "stop_sequence": nil, "usage": object{"input_tokens": 10, "output_tokens": 1}}
	if !stream {
		if name != "" {
			start["input"] = json.RawMessage(input)
		} else {
			start["text"] = whole(text)
		}
		message["content"], message["stop_reason"] = list{start}, stop
		_ = json.NewEncoder(w).Encode(message) // writing fails if the client has ended
		return
	}
	event(w, "message_start", object{"type": "message_start", "message": message})
	event(w, "content_block_start", object{"type": "content_block_start", "index": 0, "content_block": start})
	delta := func(d object) {
		event(w, "content_block_delta", object{"type": "content_block_delta", "index": 0, "delta": d})
	}
	if name != "" {
		delta(object{"type": "input_json_delta", "partial_json": input})
	} else {
		for part := range text {
			delta(object{"type": "text_delta", "text": part})
		}
	}
	event(w, "content_block_stop", object{"type": "content_block_stop", "index": 0})
	event(w, "message_delta", object{"type": "message_delta", "delta": object{"stop_reason": stop, "stop_sequence": nil}, "usage": object{"output_tokens": 12}})
	event(w, "message_stop", object{"type": "message_stop"})
}

func openai(w io.Writer, id, name, input string, text iter.Seq[string], _ bool) {
	event(w, "response.created", object{"type": "response.created", "response": object{"id": "resp_" + id}})
	item := object{"type": "function_call", "id": "fc_" + id, "call_id": id, "name": name, "arguments": input}
	if name == "" {
		item = object{"type": "message", "role": "assistant", "id": "msg_" + id, "content": list{}}
		event(w, "response.output_item.added", object{"type": "response.output_item.added", "output_index": 0, "item": item})
		var all strings.Builder
		for part := range text {
			all.WriteString(part)
			event(w, "response.output_text.delta", object{"type": "response.output_text.delta", "item_id": item["id"], "output_index": 0, "content_index": 0, "delta": part})
		}
		item["content"] = list{object{"type": "output_text", "text": all.String()}}
	}
	event(w, "response.output_item.done", object{"type": "response.output_item.done", "output_index": 0, "item": item})
	event(w, "response.completed", object{"type": "response.completed", "response": object{"id": "resp_" + id, "usage": object{
		"input_tokens": 10, "input_tokens_details": nil, "output_tokens": 12, "output_tokens_details": nil, "total_tokens": 22}}})
}

func gemini(w io.Writer, id, name, input string, text iter.Seq[string], stream bool) {
	answer := func(part object, more object) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": list{part}}}
		maps.Copy(candidate, more)
		return object{"candidates": list{candidate}, "usageMetadata": object{"promptTokenCount": 10, "candidatesTokenCount": 12, "totalTokenCount": 22}}
	}
	end := object{"finishReason": "STOP"}
	last := object{"text": ""}
	switch {
	case name != "":
		last = object{"functionCall": object{"name": name, "args": json.RawMessage(input)}}
	case stream:
		for part := range text {
			event(w, "", answer(object{"text": part}, nil))
		}
	default:
		last["text"] = whole(text)
	}
	if stream {
		event(w, "", answer(last, end))
		return
	}
	_ = json.NewEncoder(w).Encode(answer(last, end)) // writing fails if the client has ended
}
