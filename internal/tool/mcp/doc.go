// Package mcp is the Model Context Protocol client: it makes the tools of servers
// available in a session. The official library implements the protocol.
//
//	Server (as written) ─ Check, Digest ─► approved by the user ─► Open
//	                                                                │ Start: all concurrently, nothing waits for them
//	    stdio: in the sandbox ─┐                                    ▼
//	    http, sse: by egress ──┼─► link ─ tools/list ─► mcp__server__tool ─► registry of the agent
//	    in-process ────────────┘    │ ▲                      │ Requests: mcp.call "server/tool", whole input
//	                                │ └ dies: next use       ▼
//	                                │   connects again     Run ─► text, media, files, structured
//	                                └ elicitation ─► hook ─► Elicit (the user) ─► hook ─► server
//
//	c, err := mcp.Open([]mcp.Server{{Name: "db", Command: "db-mcp"}}, &mcp.Options{Dir: dir, Sandbox: box})
//	defer c.Close()
//	c.OnChange(func(tools []tool.Tool) { … }) // the list has changed: agent.SetTools
//	registry, err := tool.NewRegistry(c.Tools(ctx)...)
//
// Servers are not trusted. What a server claims about itself and its tools is shown to the user and has no effect
// on decisions: no tool is read-only because a server says so. Data from a server is limited in size, number and
// time. A server that hangs, floods or dies only fails its own calls.
//
// The package has no configuration files and no approvals: it connects to every server
// that it gets. Callers pass only servers whose [Server.Digest] the user has approved.
package mcp
