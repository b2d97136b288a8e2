package mcp

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/tool"
)

func TestMCPCorpus(t *testing.T) {
	corpus.Claim(t, corpus.Area(t, "agentkit-commaagents-parachute.json", "mcp"), map[string]func(*testing.T, corpus.Case){
		// A server takes a tool away and says so: what the model is offered next lacks it.
		"ak-tool-015": corpus.Test(`{"given": {"state":"server removes a tool and sends list_changed"}, "when": ["next turn"], "expect": {"catalog event":"removed","spec absent":true}}`, func(t *testing.T, _ corpus.Case) {
			s := newServer()
			heard := listChanged(s)
			sdk.AddTool(s, &sdk.Tool{Name: "shrink"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
				s.RemoveTools("die")
				<-heard
				return textResult("done"), nil, nil
			})
			var told atomic.Value
			c, _ := open(t, nil, inProcessServer(t, "a", s))
			c.OnChange(func(list []tool.Tool) { told.Store(names(list)) })
			die := lookup(t, c, "mcp__a__die")
			call(t, lookup(t, c, "mcp__a__shrink"), "{}")
			if got := told.Load(); got != "mcp__a__echo mcp__a__shrink" {
				t.Errorf("the catalog: %v", got)
			}
			if r := call(t, die, "{}"); !r.IsError || !strings.Contains(text(r), "no longer has the tool") {
				t.Errorf("the tool that is gone: %q", text(r))
			}
		}),
	}, nil)
}
