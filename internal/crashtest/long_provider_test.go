//go:build linux

package crashtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// provider is a strict provider over HTTP with a model that performs a long task step by step.
// The model has no memory: its next step follows from the transcript, or from the summary in
// it.
type provider struct {
	*httptest.Server
	steps int

	mu       sync.Mutex
	offered  map[string][]byte // by what it is for: system prompt and tools
	refused  []string
	requests int
	summed   int // summaries written
	looked   int // how often the model checked the outcome of a call
	done     bool
	ids      int
	first    func() // called once, at the next request
}

func newProvider(t *testing.T, steps int) *provider {
	p := &provider{steps: steps, offered: map[string][]byte{}}
	p.Server = httptest.NewServer(http.HandlerFunc(p.serve))
	t.Cleanup(p.Close)
	return p
}

// wireRequest is a request of the Anthropic Messages API.
type wireRequest struct {
	System   json.RawMessage `json:"system"`
	Tools    json.RawMessage `json:"tools"`
	Thinking *struct {
		Type string `json:"type"`
	} `json:"thinking"`
	Messages []wireMessage `json:"messages"`
}

type wireMessage struct {
	Role    string      `json:"role"`
	Content []wireBlock `json:"content"`
}

type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	Thinking  string          `json:"thinking"`
	Signature string          `json:"signature"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	UseID     string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   []wireBlock     `json:"content"`
}

func (p *provider) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the program was killed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests++
	if p.first != nil {
		p.first()
		p.first = nil
	}
	var req wireRequest
	err = json.Unmarshal(body, &req)
	summary := bytes.Contains(req.System, []byte("ummar")) && len(req.Tools) == 0
	if err == nil {
		err = p.check(&req, body, summary)
	}
	if err == nil && p.looked > p.steps {
		err = fmt.Errorf("the model turns in circles: it has looked %d times in %d steps", p.looked, p.steps)
	}
	if err != nil {
		p.refused = append(p.refused, err.Error())
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"invalid_request_error","message":%q}}`, err)
		return
	}
	answer := p.next(&req)
	if summary {
		p.summed++
		answer = []wireBlock{{Type: "text", Text: summaryOf(req.Messages[0].Content[0].Text)}}
	}
	p.stream(w, answer)
}

// check returns what a strict provider would reject.
func (p *provider) check(req *wireRequest, body []byte, summary bool) error {
	for what, part := range map[string]json.RawMessage{"system prompt": req.System, "tools": req.Tools} {
		key := fmt.Sprint(what, summary)
		part = bytes.ReplaceAll(part, []byte(`,"cache_control":{"type":"ephemeral"}`), nil)
		if was, ok := p.offered[key]; ok && !bytes.Equal(was, part) {
			return fmt.Errorf("the %s are others than before:\n%s\nbefore\n%s", what, part, was)
		}
		p.offered[key] = part
	}
	if n := bytes.Count(body, []byte(`"cache_control"`)); n > 4 {
		return fmt.Errorf("%d cache marks", n)
	}
	if len(req.Messages) == 0 {
		return errors.New("messages: at least one message is required")
	}
	seen := map[string]bool{}
	var open []string
	role := "assistant"
	for i, m := range req.Messages {
		switch {
		case m.Role == role:
			return fmt.Errorf("messages.%d: roles must alternate", i)
		case len(m.Content) == 0:
			return fmt.Errorf("messages.%d: the content is empty", i)
		}
		role = m.Role
		var err error
		if open, err = checkMessage(m, open, seen); err != nil {
			return fmt.Errorf("messages.%d: %w", i, err)
		}
	}
	if role != "user" || len(open) > 0 {
		return fmt.Errorf("the last message is the %s's, and %q have no result", role, open)
	}
	if n := len(req.Messages); req.Thinking != nil && n > 1 && req.Messages[n-1].Content[0].Type == "tool_result" &&
		req.Messages[n-2].Content[0].Type != "thinking" {
		return errors.New("a final assistant message must start with a thinking block")
	}
	return nil
}

// checkMessage checks one message: open are the uses that it must answer first.
func checkMessage(m wireMessage, open []string, seen map[string]bool) ([]string, error) {
	waiting := map[string]bool{}
	for _, id := range open {
		waiting[id] = true
	}
	var uses []string
	for i, b := range m.Content {
		switch {
		case b.Type == "tool_result" && m.Role == "user" && waiting[b.UseID]:
			delete(waiting, b.UseID)
		case b.Type == "tool_result":
			return nil, fmt.Errorf("unexpected tool_use_id %q: no tool_use in the message before", b.UseID)
		case len(waiting) > 0:
			return nil, fmt.Errorf("%d tool_use ids were found without tool_result blocks immediately after", len(waiting))
		case b.Type == "text" && strings.TrimSpace(b.Text) == "":
			return nil, fmt.Errorf("content.%d: text content blocks must be non-empty", i)
		case b.Type == "text":
		case b.Type == "thinking" && m.Role == "assistant":
			if b.Signature != signature(b.Thinking) {
				return nil, fmt.Errorf("content.%d: invalid signature in thinking block", i)
			}
			if i == len(m.Content)-1 {
				return nil, errors.New("the final block in an assistant message cannot be thinking")
			}
		case b.Type == "tool_use" && m.Role == "assistant" && !seen[b.ID] && len(b.Input) > 0 && b.Input[0] == '{':
			seen[b.ID] = true
			uses = append(uses, b.ID)
		default:
			return nil, fmt.Errorf("content.%d: a %s of the %s that cannot be there", i, b.Type, m.Role)
		}
	}
	if len(waiting) > 0 {
		return nil, fmt.Errorf("%d tool_use ids have no result", len(waiting))
	}
	return uses, nil
}

func signature(thinking string) string { return "sig-" + strconv.Itoa(len(thinking)) + thinking }

// stream answers as the API does, a piece at a time.
func (p *provider) stream(w http.ResponseWriter, blocks []wireBlock) {
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(kind, format string, args ...any) {
		_, _ = fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, fmt.Sprintf(format, args...))
		_ = http.NewResponseController(w).Flush() // it may be gone
	}
	stop := "end_turn"
	send("message_start", `,"message":{"id":"msg","type":"message","role":"assistant","model":"m","content":[],"usage":{"input_tokens":10,"output_tokens":1}}`)
	for i, b := range blocks {
		switch b.Type {
		case "text":
			send("content_block_start", `,"index":%d,"content_block":{"type":"text","text":""}`, i)
			send("content_block_delta", `,"index":%d,"delta":{"type":"text_delta","text":%q}`, i, b.Text)
		case "thinking":
			send("content_block_start", `,"index":%d,"content_block":{"type":"thinking","thinking":""}`, i)
			send("content_block_delta", `,"index":%d,"delta":{"type":"thinking_delta","thinking":%q}`, i, b.Thinking)
			send("content_block_delta", `,"index":%d,"delta":{"type":"signature_delta","signature":%q}`, i, signature(b.Thinking))
		case "tool_use":
			stop = "tool_use"
			send("content_block_start", `,"index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}`, i, b.ID, b.Name)
			send("content_block_delta", `,"index":%d,"delta":{"type":"input_json_delta","partial_json":%q}`, i, b.Input)
		}
		send("content_block_stop", `,"index":%d`, i)
	}
	send("message_delta", `,"delta":{"stop_reason":%q},"usage":{"output_tokens":20}`, stop)
	send("message_stop", "")
}

var (
	stepText    = regexp.MustCompile(`STEP (\d+) (do|look|end)`)
	summaryText = regexp.MustCompile(`AFTER STEP (\d+) (do|look|end) (ok|unclear)`)
)

// summaryOf summarizes a history as far as the work needs it.
func summaryOf(history string) string {
	if i := strings.LastIndex(history, "AFTER STEP"); i > strings.LastIndex(history, "STEP ")-len("AFTER ") {
		if m := summaryText.FindString(history[i:]); m != "" {
			return m
		}
	}
	all := stepText.FindAllStringSubmatchIndex(history, -1)
	if len(all) == 0 {
		return "AFTER STEP 0 end ok"
	}
	last := all[len(all)-1]
	how := "ok"
	if strings.Contains(history[last[1]:], "[tool error") {
		how = "unclear"
	}
	if history[last[4]:last[5]] == "look" { // what was seen is not repeated: look again
		how = "unclear"
	}
	return fmt.Sprintf("AFTER STEP %s %s %s", history[last[2]:last[3]], history[last[4]:last[5]], how)
}

// progress is the state of the work according to a transcript.
type progress struct {
	step   int
	what   string // do, look or end
	ok     bool
	seen   string // what looking showed
	prompt bool   // somebody has said something since
}

func where(messages []wireMessage) progress {
	a := progress{what: "end", ok: true}
	for _, m := range messages {
		for _, b := range m.Content {
			switch {
			case m.Role == "assistant" && b.Type == "text" && stepText.MatchString(b.Text):
				s := stepText.FindStringSubmatch(b.Text)
				a = progress{what: s[2], ok: true}
				a.step, _ = strconv.Atoi(s[1])
			case m.Role == "user" && b.Type == "text" && summaryText.MatchString(b.Text):
				s := summaryText.FindStringSubmatch(b.Text)
				a = progress{what: s[2], ok: s[3] == "ok"}
				a.step, _ = strconv.Atoi(s[1])
			case b.Type == "tool_result":
				a.ok = a.ok && !b.IsError
				for _, c := range b.Content {
					a.seen += c.Text + "\n"
				}
			case m.Role == "user" && b.Type == "text":
				a.prompt = true
			}
		}
	}
	return a
}

// next returns the model's next step.
func (p *provider) next(req *wireRequest) []wireBlock {
	a := where(req.Messages)
	switch {
	case a.what == "do" && !a.ok, a.what == "look" && !a.ok && !strings.Contains(a.seen, "File not found"):
		p.looked++
		return p.say(a.step, "look", p.look(a.step)...)
	case a.what == "look" && (!a.ok || !taskOf(a.step).done(a.seen)):
		return p.say(a.step, "do", p.act(a.step)...)
	case a.what != "end" && a.step%2 == 0 && !a.prompt, a.step == p.steps:
		p.done = a.step == p.steps
		return []wireBlock{{Type: "thinking", Thinking: "enough"}, {Type: "text", Text: fmt.Sprintf("STEP %d end", a.step)}}
	}
	return p.say(a.step+1, "do", p.act(a.step+1)...)
}

func (p *provider) say(step int, what string, uses ...wireBlock) []wireBlock {
	return append([]wireBlock{
		{Type: "thinking", Thinking: fmt.Sprintf("step %d comes", step)}, {Type: "text", Text: fmt.Sprintf("STEP %d %s", step, what)},
	}, uses...)
}

func (p *provider) use(name, input string) wireBlock {
	p.ids++
	return wireBlock{Type: "tool_use", ID: fmt.Sprintf("toolu_%d_%d", time.Now().UnixNano(), p.ids), Name: name, Input: json.RawMessage(input)}
}
