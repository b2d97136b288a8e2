package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// askingServer is an MCP server on the standard streams that asks something during a call.
func askingServer() {
	s := mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "book", InputSchema: json.RawMessage(`{"type": "object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if said, ok := r.Params.InputResponses["seat"].(*mcp.ElicitResult); ok {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "the person said: " + said.Action}}}, nil
		}
		schema := json.RawMessage(`{"type": "object", "properties": {"seat": {"type": "string", "default": "1A"}}, "required": ["seat"]}`)
		return &mcp.CallToolResult{RequestState: "asked", InputRequests: mcp.InputRequestMap{
			"seat": &mcp.ElicitParams{Message: "Which seat?", RequestedSchema: schema},
		}}, nil
	})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
