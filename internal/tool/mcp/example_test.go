package mcp_test

import (
	"context"
	"encoding/json"
	"fmt"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/internal/tool/mcp"
	"github.com/holdfast-dev/holdfast/tool"
)

// A server of this program; others have a Command or a URL.
func ExampleOpen() {
	server := sdk.NewServer(&sdk.Implementation{Name: "clock", Version: "1"}, nil)
	sdk.AddTool(server, &sdk.Tool{Name: "now"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "noon"}}}, nil, nil
	})
	def := mcp.Server{Name: "clock", Connect: func(ctx context.Context) (sdk.Transport, error) {
		ours, theirs := sdk.NewInMemoryTransports()
		_, err := server.Connect(ctx, theirs, nil)
		return ours, err
	}}

	c, err := mcp.Open([]mcp.Server{def}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	ctx := context.Background()
	for _, t := range c.Tools(ctx) {
		r, err := t.Run(ctx, &tool.Call{Input: json.RawMessage("{}")})
		fmt.Println(t.Spec().Name, r.Content, err)
	}
	// Output:
	// mcp__clock__now [{noon map[]}] <nil>
}

// What a person approves, once, is exactly this.
func ExampleServer_Digest() {
	s := mcp.Server{Name: "db", Command: "npx", Args: []string{"-y", "@example/db@1.2.0", "${DB_URL:-sqlite://x}"}}
	other := s
	other.Args = []string{"-y", "@example/db@9", "${DB_URL:-sqlite://x}"}
	fmt.Println(s.Summary(), s.Digest() == other.Digest())
	// Output:
	// npx -y @example/db@1.2.0 "${DB_URL:-sqlite://x}" false
}
