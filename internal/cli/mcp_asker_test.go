package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// toolRequests are the requests that the tools of askingServer make during a call.
var toolRequests = map[string]string{
	"book": `{"type": "object", "properties": {"seat": {"type": "string", "default": "1A"}}, "required": ["seat"]}`,
	"reserve": `{"type": "object", "required": ["seat", "days"], "properties": {
		"seat": {"type": "string", "title": "Your seat", "description": "row and letter", "pattern": "^[0-9]+[A-F]$"},
		"days": {"type": "array", "items": {"anyOf": [{"const": "mo", "title": "Monday"}, {"const": "tu", "title": "Tuesday"}]}},
		"rows": {"type": "integer", "minimum": 1, "default": 2}, "quiet": {"type": "boolean"}, "on": {"type": "string", "format": "date"},
		"note": {"type": "string"}, "meal": {"type": "string", "enum": ["apple", "bread"]}}}`,
	"login": `{"type": "object", "properties": {"user": {"type": "string"}, "password": {"type": "string"}}, "required": ["user", "password"]}`,
}

// askingServer is an MCP server on the standard streams whose tools send a request during a call and return
// the answer.
func askingServer() {
	s := mcp.NewServer(&mcp.Implementation{Name: "asker", Version: "1"}, nil)
	for name, schema := range toolRequests {
		s.AddTool(&mcp.Tool{Name: name, InputSchema: json.RawMessage(`{"type": "object"}`)}, func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if answer, ok := r.Params.InputResponses["seat"].(*mcp.ElicitResult); ok {
				content, err := json.Marshal(answer.Content)
				return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: fmt.Sprintf("the answer is: %s %s", answer.Action, content)}}}, err
			}
			return &mcp.CallToolResult{RequestState: "asked", InputRequests: mcp.InputRequestMap{
				"seat": &mcp.ElicitParams{Message: "Which seat?", RequestedSchema: json.RawMessage(schema)},
			}}, nil
		})
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
