// Package vendoragent lets package agent run an agent of another make: it is a model to the
// loop, and its tools are stand-ins of the loop's.
//
//	agent loop ──Stream──► Guest ──► process in the container ◄──wire── vendor.Driver
//	    │                    ▲  deltas, items ◄────────────────────────────── Sink
//	    │ judges, asks       │
//	    └──Run(use)──► stand-in ──► "may run" ──► Permit; ◄── its result
//
// So everything that holds for our own agent holds for a guest: what it says is on
// record before it is shown, a tool use is judged by the same guards, asked about as any
// other, and is on record as started before the guest hears that it may run it.
//
// A guest remembers a session by itself, in a file that it writes. That file is an
// optimisation, and the log is the truth: the ladder of [VendorAgent] resumes the guest's own
// session where it can, begins a new one that is told the history where it cannot, and
// never runs a turn again that has said or done anything.
//
// The shortest use:
//
//	g, err := guest.New(guest.Options{Vendor: claude.Driver{}, Start: start, Places: places})
//	a, err := agent.New(g, g.Agent(agent.Options{Sessions: sessions}))
//	g.Attach(a)
//
// The package starts nothing itself, knows no container and no wire.
package vendoragent
