package claude

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"

	"github.com/holdfast-dev/holdfast/transcript"
)

// maxLine bounds one line. The longest that make sense hold an image or a file.
const maxLine = 256 << 20

// reader reads lines of any length up to maxLine.
type reader struct{ r *bufio.Reader }

func newReader(r io.Reader) *reader { return &reader{bufio.NewReaderSize(r, 64<<10)} }

// line returns the next line without white space around it, and io.EOF after the last.
func (r *reader) line() ([]byte, error) {
	var line []byte
	for {
		b, err := r.r.ReadSlice('\n')
		if len(line)+len(b) > maxLine {
			return nil, fmt.Errorf("a line of more than %d MB", maxLine>>20)
		}
		line = append(line, b...)
		switch {
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && len(bytes.TrimSpace(line)) == 0:
			return nil, err
		case err == nil && len(bytes.TrimSpace(line)) == 0:
			line = line[:0]
			continue
		}
		return bytes.TrimSpace(line), nil
	}
}

// writer writes lines on a goroutine of its own, so that a program that does not read
// for a while stops nobody who reads from it.
type writer struct {
	to   io.WriteCloser
	done chan struct{}

	mu    sync.Mutex
	more  *sync.Cond
	queue [][]byte
	ended bool
}

func newWriter(to io.WriteCloser) *writer {
	w := &writer{to: to, done: make(chan struct{})}
	w.more = sync.NewCond(&w.mu)
	go w.run()
	return w
}

func (w *writer) run() {
	defer close(w.done)
	for {
		w.mu.Lock()
		for len(w.queue) == 0 && !w.ended {
			w.more.Wait()
		}
		if len(w.queue) == 0 {
			w.mu.Unlock()
			return
		}
		line := w.queue[0]
		w.queue = w.queue[1:]
		w.mu.Unlock()
		if _, err := w.to.Write(line); err != nil {
			return // the process is gone, which its output tells
		}
	}
}

func (w *writer) send(v any) {
	b, err := json.Marshal(v)
	if err != nil {
		return // strings, and JSON that was read
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.ended {
		w.queue = append(w.queue, append(b, '\n'))
		w.more.Signal()
	}
}

// end closes the process's input and waits for the goroutine.
func (w *writer) end() {
	w.mu.Lock()
	w.ended, w.queue = true, nil
	w.more.Signal()
	w.mu.Unlock()
	_ = w.to.Close()
	<-w.done
}

// askHook is the id of the hook that has every tool use asked about.
const askHook = "ask"

func initialize() any {
	return map[string]any{
		"type": "control_request", "request_id": "init",
		"request": map[string]any{"subtype": "initialize", "hooks": map[string]any{
			"PreToolUse": []any{map[string]any{"matcher": nil, "hookCallbackIds": []string{askHook}}},
		}},
	}
}

func userMessage(parts []transcript.Part) any {
	return map[string]any{
		"type": "user", "parent_tool_use_id": nil, "session_id": "",
		"message": map[string]any{"role": "user", "content": content(parts)},
	}
}

func response(id string, what any) any {
	return map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "success", "request_id": id, "response": what,
	}}
}

func refusal(id, why string) any {
	return map[string]any{"type": "control_response", "response": map[string]any{
		"subtype": "error", "request_id": id, "error": why,
	}}
}

// event is a line of the wire, as far as it is looked at.
type event struct {
	Type      string          `json:"type"`
	Subtype   string          `json:"subtype"`
	Session   string          `json:"session_id"`
	Parent    string          `json:"parent_tool_use_id"`
	Message   *message        `json:"message"`
	Event     *streamed       `json:"event"`
	RequestID string          `json:"request_id"`
	Request   *request        `json:"request"`
	Response  *reply          `json:"response"`
	Error     json.RawMessage `json:"error"`

	IsError bool     `json:"is_error"`
	Result  string   `json:"result"`
	Errors  []string `json:"errors"`
	Usage   *usage   `json:"usage"`
	Cost    float64  `json:"total_cost_usd"`
	Turns   int      `json:"num_turns"`

	Info json.RawMessage `json:"rate_limit_info"`
}

// message is one of the API, or a piece of it.
type message struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Content json.RawMessage `json:"content"`
	Stop    string          `json:"stop_reason"`
	Usage   *usage          `json:"usage"`
}

// streamed is an event of the API's own stream.
type streamed struct {
	Type    string   `json:"type"`
	Message *message `json:"message"`
	Delta   struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Thinking string `json:"thinking"`
		Stop     string `json:"stop_reason"`
	} `json:"delta"`
	Usage *usage `json:"usage"`
}

type usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

func (u *usage) tokens() transcript.Usage {
	if u == nil {
		return transcript.Usage{}
	}
	return transcript.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite}
}

// request is a control_request of the program.
type request struct {
	Subtype  string          `json:"subtype"`
	Tool     string          `json:"tool_name"`
	Use      string          `json:"tool_use_id"`
	Input    json.RawMessage `json:"input"`
	Why      string          `json:"decision_reason"`
	Blocked  string          `json:"blocked_path"`
	Callback string          `json:"callback_id"`
}

// reply is a control_response of the program.
type reply struct {
	Subtype   string `json:"subtype"`
	RequestID string `json:"request_id"`
	Error     string `json:"error"`
}
