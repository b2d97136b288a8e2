package mcp

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// What a server says of an error is told, but not all of a book.
func TestLongErrors(t *testing.T) {
	book := strings.Repeat(`word \u001b[31m`, 50_000)
	for _, method := range []string{"initialize", "tools/list"} {
		c, n := open(t, nil, rawServer("books", func(m string, id json.RawMessage, out io.Writer) {
			if m == method {
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"%s"}}`+"\n", id, book)
				return
			}
			greet(m, id, out)
		}))
		c.Tools(t.Context())
		err := c.Connect(t.Context(), "books")
		if err == nil || len(err.Error()) > 5000 || !strings.Contains(err.Error(), "word") || strings.Contains(err.Error(), "\x1b") {
			t.Errorf("%s: an error of %d bytes: %.300q", method, len(fmt.Sprint(err)), fmt.Sprint(err))
		}
		if s := c.Status()[0].Error; len(s) > 5000 || len(n.String()) > 15_000 {
			t.Errorf("%s: a status of %d bytes, notices of %d", method, len(s), len(n.String()))
		}
	}
}

// Of thousands of tools that cannot be any, some are told by name.
func TestManyToolsLeftOut(t *testing.T) {
	list := strings.Repeat(`{"name":"odd","inputSchema":{"type":"array"}},`, 5000)
	c, n := open(t, nil, rawServer("many", func(method string, id json.RawMessage, out io.Writer) {
		if !greet(method, id, out) {
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s{"name":"good","inputSchema":{}}]}}`+"\n", id, list)
		}
	}))
	if got := names(c.Tools(t.Context())); got != "mcp__many__good" {
		t.Errorf("tools %q", got)
	}
	if left := c.Status()[0].Skipped; len(left) > maxSkipped+1 || !strings.Contains(strings.Join(left, "\n"), "4950 more") {
		t.Errorf("%d, %q", len(left), left)
	}
	if !strings.Contains(n.String(), "5000 tools are skipped") {
		t.Errorf("told %q", n)
	}
}

// The tools of all servers together are bounded, and that some are not offered is told.
func TestTooManyTools(t *testing.T) {
	servers := make([]Server, 3)
	for i := range servers {
		var list []string
		for k := range 200 {
			list = append(list, fmt.Sprintf(`{"name":"t%d","inputSchema":{}}`, k))
		}
		servers[i] = rawServer(fmt.Sprintf("s%d", i), func(method string, id json.RawMessage, out io.Writer) {
			if !greet(method, id, out) {
				fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[%s]}}`+"\n", id, strings.Join(list, ","))
			}
		})
	}
	c, n := open(t, nil, servers...)
	for range 2 {
		if got := len(c.Tools(t.Context())); got != maxTools {
			t.Errorf("%d tools", got)
		}
	}
	if said := n.String(); strings.Count(said, "88 of 600 tools of MCP servers are not offered") != 1 {
		t.Errorf("told %q", said)
	}
}

// A server whose list is another one all the time is asked ever less often.
func TestListThatNeverStays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lists := 0
		c, n := open(t, &Options{Dir: "/"}, rawServer("restless", func(method string, id json.RawMessage, out io.Writer) {
			if greet(method, id, out) || method != "tools/list" {
				return
			}
			lists++
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"t","description":"%d","inputSchema":{}}]}}`+"\n", id, lists)
			fmt.Fprintln(out, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}))
		c.Tools(t.Context())
		time.Sleep(5 * time.Minute)
		if told := strings.Count(n.String(), "has changed"); told < 3 || told > 20 || lists > 20 {
			t.Errorf("asked %d times and told %d times in five minutes", lists, told)
		}
		c.Close()
	})
}

// A question of a server belongs to the call that began last, of those that run.
func TestQuestionsBelongToTheLastCall(t *testing.T) {
	for range 20 { // the calls are kept in a map
		n := &conn{calls: map[string]*runningCall{}}
		calls := make([]*runningCall, 5)
		tokens := make([]string, 5)
		for i := range calls {
			calls[i] = &runningCall{}
			tokens[i] = n.begin(calls[i])
		}
		n.finish(tokens[2])
		if n.current() != calls[4] {
			t.Fatal("the end of another call has changed whom a question belongs to")
		}
		n.finish(tokens[4])
		if n.current() != calls[3] {
			t.Fatal("not the last that runs")
		}
		for _, i := range []int{3, 0, 1} {
			n.finish(tokens[i])
		}
		if n.current() != nil {
			t.Fatal("a call that has ended")
		}
	}
}
