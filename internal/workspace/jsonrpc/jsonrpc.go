// Package jsonrpc implements JSON-RPC with one message per line, as drivers need it. One goroutine
// reads all messages in order, and any goroutine may send.
//
//	process ◄──lines──► Conn ──Next──► Message: a response, a request, or a notification
//
//	c := jsonrpc.New(p.Stdout(), p.Stdin(), jsonrpc.Options{Version: true})
//	defer c.Close()
//	id := c.Call("initialize", params)
//	m, err := c.Next() // m.IsResponse(id)
//
// The package does not call handlers for messages, and does not define any methods.
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

// The standard's error codes.
const (
	MethodNotFound = -32601
	InvalidParams  = -32602
)

// Message is a received message: a request has a method and an id, a notification only a method, a response only
// an id.
type Message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *Error          `json:"error"`
}

// Error is an error response.
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

// BrokenError reports an invalid line. Reading can continue after it.
type BrokenError struct {
	Line string // its beginning
}

func (e *BrokenError) Error() string { return "not a message: " + e.Line }

// IsResponse reports whether the message is the response to the call with this id.
func (m *Message) IsResponse(id string) bool { return m.Method == "" && id != "" && string(m.ID) == id }

// IsRequest reports whether the message is a request, which needs a response.
func (m *Message) IsRequest() bool { return m.Method != "" && len(m.ID) > 0 }

// Decode decodes the parameters of a request or notification.
func (m *Message) Decode(v any) error {
	if len(m.Params) == 0 {
		return nil
	}
	return json.Unmarshal(m.Params, v)
}

// Options configures a connection.
type Options struct {
	Version bool // each message contains "jsonrpc":"2.0"
}

// Conn is a connection to a process. Only one goroutine at a time may call Next. Any goroutine may
// call the other methods.
type Conn struct {
	in  *lineio.Reader
	out *lineio.Writer
	opt Options

	mu   sync.Mutex
	last int64
	open map[string]bool // calls without a response
}

// New returns a connection that reads from r and writes to w, which Close closes.
func New(r io.Reader, w io.WriteCloser, o Options) *Conn {
	return &Conn{in: lineio.NewReader(r), out: lineio.NewWriter(w), opt: o, open: map[string]bool{}}
}

// Next returns the next message. For an invalid line the error is a [*BrokenError]. The same error
// is returned for a response to a call that was never made or that already has a response. At the
// end of the stream the error is [io.ErrUnexpectedEOF], because a turn does not end properly this
// way.
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

// answered removes a call from the calls that wait for a response. It returns false for a call that
// is unknown or was already answered.
func (c *Conn) answered(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	waits := c.open[id]
	delete(c.open, id)
	return waits
}

// Call sends a request and returns its id. The response will have the same id.
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

// Reply sends a response.
func (c *Conn) Reply(id json.RawMessage, result any) {
	c.send(map[string]any{"id": id, "result": result})
}

// Refuse sends an error response.
func (c *Conn) Refuse(id json.RawMessage, code int, why string) {
	c.send(map[string]any{"id": id, "error": Error{Code: code, Message: why}})
}

func (c *Conn) send(m map[string]any) {
	if c.opt.Version {
		m["jsonrpc"] = "2.0"
	}
	b, err := json.Marshal(m)
	if err != nil {
		return // strings and parsed JSON cannot fail
	}
	c.out.Send(b)
}

// Close closes the process's input and waits for the writing goroutine.
func (c *Conn) Close() { c.out.Close() }
