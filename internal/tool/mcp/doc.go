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
// Servers are not trusted. The claims of a server about itself and its tools are shown to the user
// and have no effect on decisions: a tool is not read-only because the server says so. Data from a
// server is limited in size, number and time. If a server hangs, floods or dies, only its own calls
// fail.
//
// The package has no configuration files and no approvals: it connects to every server that it
// gets. Callers must pass only servers whose [Server.Digest] the user has approved.
package mcp
