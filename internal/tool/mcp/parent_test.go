package mcp

import (
	"context"
	"strings"
	"sync"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/tool"
)

func withRows(text string) *sdk.Server {
	s := newServer()
	s.AddResource(&sdk.Resource{URI: "db://rows", Name: "rows"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "db://rows", Text: text}}}, nil
	})
	return s
}

// A client beside another one reads the resources of both, and has the tools of its own.
func TestParentClient(t *testing.T) {
	run, _ := open(t, nil, inProcessServer(t, "a", withRows("run")))
	run.Tools(t.Context())
	c, _ := open(t, &Options{Parent: run}, inProcessServer(t, "b", withRows("own")))
	if got := names(c.Tools(t.Context())); got != "mcp__b__die mcp__b__echo ListMcpResources ReadMcpResource" {
		t.Errorf("got %q", got)
	}
	list, read := lookup(t, c, ListResources), lookup(t, c, ReadResource)
	if got := text(call(t, list, "{}")); !strings.Contains(got, "a:\n- db://rows") || !strings.Contains(got, "b:\n- db://rows") {
		t.Errorf("got %q", got)
	}
	for server, want := range map[string]string{"a": "run", "b": "own"} {
		if got := text(call(t, read, `{"server":"`+server+`","uri":"db://rows"}`)); !strings.Contains(got, want) {
			t.Errorf("%s: got %q", server, got)
		}
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if got := text(call(t, lookup(t, run, ReadResource), `{"server":"a","uri":"db://rows"}`)); !strings.Contains(got, "run") {
		t.Errorf("after its end: %q", got)
	}
}

// Who looks at the tools besides takes no news from who is told of them.
func TestSubagentListChanges(t *testing.T) {
	s := newServer()
	c, _ := open(t, nil, inProcessServer(t, "a", s))
	c.Tools(t.Context())
	c.mu.Lock()
	c.lastTools = "something else" // the list has changed, and nobody was told yet
	c.mu.Unlock()
	if got := names(c.ToolsForSubagent(t.Context())); got != "mcp__a__die mcp__a__echo" {
		t.Errorf("got %q", got)
	}
	var once sync.Once
	told := make(chan struct{})
	c.OnChange(func([]tool.Tool) { once.Do(func() { close(told) }) })
	<-told
}
