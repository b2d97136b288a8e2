package cli

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"
)

// A client lists tools and calls two; when it leaves, its agent ends, and its session is stored.
func TestServeMCP(t *testing.T) {
	dir := shortDir(t)
	write(t, dir, "a.txt", "the text of a\n")
	p, _, errs := newProgram(dir, environ(dir), "mcp", "serve")
	in, calls := io.Pipe()
	answers, out := io.Pipe()
	p.Stdin, p.Stdout = in, out
	code := make(chan int, 1)
	go func() {
		code <- Run(t.Context(), p)
		_ = out.Close()
	}()
	lines := bufio.NewReader(answers)
	call := func(id, method, params string) string {
		t.Helper()
		if _, err := io.WriteString(calls, `{"jsonrpc":"2.0",`+id+`"method":"`+method+`","params":`+params+"}\n"); err != nil {
			t.Fatal(err)
		}
		for id != "" {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatalf("%s: %v; %s", method, err, errs)
			}
			var m struct{ ID int }
			if json.Unmarshal([]byte(line), &m) == nil && m.ID > 0 {
				return line
			}
		}
		return ""
	}
	call(`"id":1,`, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"tester","version":"1"}}`)
	call("", "notifications/initialized", `{}`)
	list := call(`"id":2,`, "tools/list", `{}`)
	for _, name := range []string{"Read", "Write", "Edit", "Bash", "Glob", "Grep", "SessionList", "SessionSearch", "SessionShow"} {
		if !strings.Contains(list, `"name":"`+name+`"`) {
			t.Errorf("no %s in %s", name, list)
		}
	}
	if n := strings.Count(list, `"inputSchema"`); n != 9 {
		t.Errorf("%d tools", n)
	}
	if a := call(`"id":3,`, "tools/call", `{"name":"Read","arguments":{"file_path":"a.txt"}}`); !strings.Contains(a, "the text of a") {
		t.Error(a)
	}
	if a := call(`"id":4,`, "tools/call", `{"name":"SessionList","arguments":{}}`); !strings.Contains(a, "MCP: tester") {
		t.Error(a)
	}
	_ = calls.Close()
	select {
	case n := <-code:
		if n != 0 {
			t.Errorf("exit code %d: %s", n, errs)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
}
