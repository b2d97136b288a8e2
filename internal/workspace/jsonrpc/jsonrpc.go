// Package jsonrpc speaks JSON-RPC in lines, as a driver needs it: one goroutine reads
// everything in the order in which it was said, and answers may come from any.
//
//	process ◄──lines──► Conn ──Next──► Message: an answer, a request, or a notification
//
//	c := jsonrpc.New(p.Stdout(), p.Stdin(), jsonrpc.Options{Version: true})
//	defer c.Close()
//	id := c.Call("initialize", params)
//	m, err := c.Next() // m.Answers(id)
//
// It dispatches nothing and knows no method.
package jsonrpc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/workspace/lineio"
)

// The codes of errors that the standard names.
const (
	MethodNotFound = -32601
	InvalidParams  = -32602
)

// Message is what the other side said: a request has a method and an id, a notification
// a method alone, an answer an id alone.
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

// Error is an answer that says no.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

func (e *Error) Error() string {
	text := e.Message
	var detail struct{ Details, Message string }
	if json.Unmarshal(e.Data, &detail) == nil {
		for _, more := range []string{detail.Details, detail.Message} {
			if more != "" && !strings.Contains(text, more) {
				text += ": " + more
			}
		}
	}
	return fmt.Sprintf("%s (code %d)", text, e.Code)
}

// BrokenError says that a line was no message. The wire goes on behind it.
type BrokenError struct {
	Line string // its beginning
}

func (e *BrokenError) Error() string { return "a line that is no message: " + e.Line }

// IsResponse reports whether the message is the answer to the call with this id.
func (m *Message) IsResponse(id string) bool { return m.Method == "" && id != "" && string(m.ID) == id }

// IsRequest reports whether the message is a request, which wants an answer.
func (m *Message) IsRequest() bool { return m.Method != "" && len(m.ID) > 0 }

// Decode reads the parameters of a request or notification.
func (m *Message) Decode(v any) error {
	if len(m.Params) == 0 {
		return nil
	}
	return json.Unmarshal(m.Params, v)
}

// Options of a connection.
type Options struct {
	Version bool // each message says "jsonrpc":"2.0"
}

// Conn is a connection to a process. Next is for one goroutine; the other methods may be
// called from any.
type Conn struct {
	in  *lineio.Reader
	out *lineio.Writer
	opt Options

	mu   sync.Mutex
	last int64
	open map[string]bool // calls that have no answer yet
}

// New returns a connection that reads from r and writes to w, which Close closes.
func New(r io.Reader, w io.WriteCloser, o Options) *Conn {
	return &Conn{in: lineio.NewReader(r), out: lineio.NewWriter(w), opt: o, open: map[string]bool{}}
}

// Next returns the next message. A line that is none is a [*BrokenError], and so is an
// answer to no call, and a second one to the same; the end of the
// stream is [io.ErrUnexpectedEOF], because no turn ends with it.
func (c *Conn) Next() (*Message, error) {
	line, err := c.in.Next()
	switch {
	case errors.Is(err, io.EOF):
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	}
	var m Message
	if line[0] != '{' || json.Unmarshal(line, &m) != nil {
		return nil, &BrokenError{lineio.Truncate(string(line), 200)}
	}
	if m.ID = bytes.TrimSpace(m.ID); string(m.ID) == "null" {
		m.ID = nil
	}
	if m.Method == "" && !c.answered(string(m.ID)) {
		return nil, &BrokenError{lineio.Truncate(string(line), 200)}
	}
	return &m, nil
}

// answered takes a call from those that wait. A second answer, or one to nothing, is none.
func (c *Conn) answered(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	waits := c.open[id]
	delete(c.open, id)
	return waits
}

// Call sends a request and returns its id, by which the answer is known.
func (c *Conn) Call(method string, params any) (id string) {
	c.mu.Lock()
	c.last++
	id = strconv.FormatInt(c.last, 10)
	c.open[id] = true
	c.mu.Unlock()
	c.send(map[string]any{"id": json.RawMessage(id), "method": method, "params": params})
	return id
}

// Notify sends a notification; params may be nil.
func (c *Conn) Notify(method string, params any) {
	m := map[string]any{"method": method}
	if params != nil {
		m["params"] = params
	}
	c.send(m)
}

// Reply answers a request.
func (c *Conn) Reply(id json.RawMessage, result any) {
	c.send(map[string]any{"id": id, "result": result})
}

// Refuse answers a request with an error.
func (c *Conn) Refuse(id json.RawMessage, code int, why string) {
	c.send(map[string]any{"id": id, "error": Error{Code: code, Message: why}})
}

func (c *Conn) send(m map[string]any) {
	if c.opt.Version {
		m["jsonrpc"] = "2.0"
	}
	b, err := json.Marshal(m)
	if err != nil {
		return // what is sent was made of strings, and of JSON that was read
	}
	c.out.Send(b)
}

// Close closes the process's input and waits for the goroutine that writes.
func (c *Conn) Close() { c.out.Close() }
