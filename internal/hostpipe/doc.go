// Package hostpipe lets an agent in a container write a log on the host, use the host's models without their keys,
// and ask the host's approvers.
//
//	 container                                         host
//	┌──────────────┐  append, read, list, lease, watch  ┌──────────────────────────┐
//	│ agent.Agent  ├───────────────────────────────────►│ limits ─► session.Store  │
//	│   on Client  │  stream                            │ Server  ─► model.Model   │
//	│              ├───────────────────────────────────►│         ─► approval      │
//	│              │  events, in the order of the log   │         ─► host's view   │
//	│              ├───────────────────────────────────►│                          │
//	│              │◄─────────────── submit, interrupt ─┤                          │
//	└──────────────┘   frames over one two-way stream   └──────────────────────────┘
//
// In the container, a [Client] is a [session.Store] like any other:
//
//	c := hostpipe.Dial(stream, nil)
//	defer c.Close()
//	sessions := session.New(c, nil)
//
// On the host a [Server] serves one session, and those that it owns, over one stream:
//
//	s, err := hostpipe.NewServer(stream, sessions, hostpipe.ServeOptions{Session: id, Lease: log.Lease()})
//	err = s.Serve(ctx)
//
// An append returns after the host's store has acknowledged it, records keep every byte, and errors keep their
// sentinels. The process in the container is untrusted: it reads and writes only its own session, under the host's
// lease. Its records must match their digests and follow the log. Records that would permit something on a resume
// (an answer that allows, a grant, a mode) are accepted only if the host has recorded the permission. Keys of
// models never enter the container.
//
// The threats, what stops them, and the tests:
//
//	threat                                                 defense                  test
//	write into, read or list other sessions                limits.writable, …       TestOtherSessionsAreRefused, TestSecondFirstRecord
//	permit, answer, revoke, move, or ask in another's name limits.mayWrite          TestForgedRecords, TestApprovalIDsAreUnique
//	hide content, make the log unreadable, forge times     limits.checkRecord       TestInvalidRecords, FuzzRecord
//	write after the host has lost the session              Server.epoch             TestWriteAfterTakeover
//	use models beyond the run's budget, or to send data    meter, plainNative       TestBudget, TestNativeForms
//	fill memory or disk, or flood the approver             byteSemaphore, limits    TestHostileFrames, TestRecordLimitPerTurn, TestApprovalFlood
//	block the host                                         Server.Submit            TestProcessThatNeverReads
//
// It can still write anything into its own transcript and to the model, within the budget; and it can request
// permission for one command and run another, in its container.
//
// The package starts no process (package workspace does) and knows no container.
package hostpipe
