// Package vendoragent adapts a vendor's agent (Claude Code, Codex, ACP) to package agent: the vendor's agent acts
// as the model, and its tools are proxied by tools of the loop.
//
//	agent loop ──Stream──► VendorAgent ──► process in the container ◄──protocol── vendor.Driver
//	    │                    ▲  deltas, items ◄────────────────────────────── Sink
//	    │ decides, asks      │
//	    └──Run(use)──► toolProxy ──► allow ──► Permit; ◄── its result
//
// A vendor agent therefore has the guarantees of the built-in agent: its output is recorded before it is shown,
// the same guards decide about its tool uses, and a tool call is recorded as started before the agent learns that
// it may run it.
//
// A vendor agent stores its own session in a file. That file is an optimization; the log is
// authoritative. [VendorAgent] resumes the vendor's session if possible. Otherwise it starts a new
// session that gets the history as text. It never repeats a turn that has produced output or an
// action.
//
// The shortest use:
//
//	g, err := vendoragent.New(vendoragent.Options{Vendor: claude.Driver{}, Start: start, PathMap: pathMap})
//	a, err := agent.New(g, g.Agent(agent.Options{Sessions: sessions}))
//	g.Attach(a)
//
// The package does not start processes itself, and does not depend on containers or protocols.
package vendoragent
