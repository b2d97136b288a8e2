package jsonrpc_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/workspace/jsonrpc"
)

type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }
func (nowhere) Close() error                { return nil }

func TestNext(t *testing.T) {
	for _, c := range []struct {
		line          string
		broken        bool
		asks, answers bool
	}{
		{line: `{"id":1,"result":{}}`, answers: true},
		{line: `{"jsonrpc":"2.0","id": 1 ,"error":{"code":1,"message":"no"}}`, answers: true},
		{line: `{"id":"1","result":{}}`, broken: true}, // to calls that were never made
		{line: `{"id":10,"result":{}}`, broken: true},
		{line: `{"id":1,"method":"m"}`, asks: true},
		{line: `{"id":"a","method":"m","params":{}}`, asks: true},
		{line: `{"id":null,"method":"m"}`},
		{line: `{"method":"m"}`},
		{line: `{}`, broken: true},
		{line: `{"id":null}`, broken: true},
		{line: `[{"method":"m"}]`, broken: true},
		{line: `"method"`, broken: true},
		{line: `{"method":7}`, broken: true},
		{line: `{"method":"m"`, broken: true},
	} {
		conn := jsonrpc.New(strings.NewReader(c.line+"\n"), nowhere{}, jsonrpc.Options{})
		conn.Call("x", nil)
		m, err := conn.Next()
		var b *jsonrpc.BrokenError
		switch {
		case errors.As(err, &b) != c.broken, err != nil && !c.broken:
			t.Errorf("%s: %v", c.line, err)
		case err == nil && (m.IsRequest() != c.asks || m.IsResponse("1") != c.answers || m.IsResponse("")):
			t.Errorf("%s: asks %v, answers %v", c.line, m.IsRequest(), m.IsResponse("1"))
		}
		if _, err := conn.Next(); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: at the end: %v", c.line, err)
		}
		conn.Close()
	}
}

// A call has one answer: a second one has no effect.
func TestSecondAnswer(t *testing.T) {
	conn := jsonrpc.New(strings.NewReader(strings.Repeat(`{"id":1,"result":{}}`+"\n", 2)), nowhere{}, jsonrpc.Options{})
	defer conn.Close()
	id := conn.Call("x", nil)
	if m, err := conn.Next(); err != nil || !m.IsResponse(id) {
		t.Errorf("%+v, %v", m, err)
	}
	var b *jsonrpc.BrokenError
	if m, err := conn.Next(); !errors.As(err, &b) {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestSend(t *testing.T) {
	r, w := io.Pipe()
	conn := jsonrpc.New(strings.NewReader(""), w, jsonrpc.Options{Version: true})
	defer conn.Close()
	if a, b := conn.Call("one", map[string]any{}), conn.Call("two", nil); a == b {
		t.Errorf("two calls have the id %s", a)
	}
	conn.Notify("three", nil)
	conn.Reply(json.RawMessage(`"x"`), "yes")
	conn.Refuse(json.RawMessage(`7`), jsonrpc.MethodNotFound, "no")
	s := bufio.NewScanner(r)
	for _, want := range []string{
		`{"id":1,"jsonrpc":"2.0","method":"one","params":{}}`,
		`{"id":2,"jsonrpc":"2.0","method":"two","params":null}`,
		`{"jsonrpc":"2.0","method":"three"}`,
		`{"id":"x","jsonrpc":"2.0","result":"yes"}`,
		`{"error":{"code":-32601,"message":"no"},"id":7,"jsonrpc":"2.0"}`,
	} {
		if !s.Scan() || s.Text() != want {
			t.Errorf("sent %s\nwant %s", s.Text(), want)
		}
	}
}

func TestError(t *testing.T) {
	for data, want := range map[string]string{
		``:                      "no (code 5)",
		`{"details":"because"}`: "no: because (code 5)",
		`{"details":"no"}`:      "no (code 5)",
		`"text"`:                "no (code 5)",
	} {
		e := &jsonrpc.Error{Code: 5, Message: "no", Data: json.RawMessage(data)}
		if e.Error() != want {
			t.Errorf("of %s: %s", data, e)
		}
	}
}

func FuzzNext(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"m","params":{"x":[]}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		conn := jsonrpc.New(strings.NewReader(string(b)), nowhere{}, jsonrpc.Options{})
		defer conn.Close()
		for {
			m, err := conn.Next()
			if errors.Is(err, io.ErrUnexpectedEOF) {
				return
			}
			if err == nil && m.Method == "" && len(m.ID) == 0 {
				t.Errorf("%q is a message of nothing", b)
			}
		}
	})
}

func ExampleNew() {
	conn := jsonrpc.New(strings.NewReader(`{"id":1,"result":"hello"}`), nowhere{}, jsonrpc.Options{})
	defer conn.Close()
	id := conn.Call("greet", nil)
	m, err := conn.Next()
	fmt.Println(m.IsResponse(id), string(m.Result), err)
	// Output: true "hello" <nil>
}
