// Package mcp makes tools of Model Context Protocol servers tools of a session. It is
// the client; the protocol itself is the official library's.
//
//	Server (as written) ─ Check, Digest ─► approved by a person ─► Open
//	                                                                │ Start: all side by side, nothing waits for them
//	    stdio: in the sandbox ─┐                                    ▼
//	    http, sse: by egress ──┼─► link ─ tools/list ─► mcp__server__tool ─► registry of the agent
//	    in-process ────────────┘    │ ▲                      │ Requests: mcp.call "server/tool", whole input
//	                                │ └ dies: next use       ▼
//	                                │   connects again     Run ─► text, media, files, structured
//	                                └ elicitation ─► hook ─► Elicit (a person) ─► hook ─► server
//
//	c, err := mcp.Open([]mcp.Server{{Name: "db", Command: "db-mcp"}}, &mcp.Options{Dir: dir, Sandbox: box})
//	defer c.Close()
//	c.OnChange(func(tools []tool.Tool) { … }) // the list has changed: agent.SetTools
//	registry, err := tool.NewRegistry(c.Tools(ctx)...)
//
// A server is somebody else's program. What it says of itself and of its tools is shown
// to people and decides nothing: no tool is read-only because a server says so. What it
// sends is bounded, in size, in number and in time; a server that hangs, floods or dies
// fails its own calls and nothing else.
//
// The package knows of no configuration files and of no approval: it connects to what
// it is given, so it is given only servers that a person has approved by their
// [Server.Digest].
package mcp
