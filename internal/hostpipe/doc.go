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
// In the container, a [Client] is an ordinary [session.Store]:
//
//	c := hostpipe.Dial(stream, nil)
//	defer c.Close()
//	sessions := session.New(c, nil)
//
// On the host, a [Server] uses one stream to serve one session and the sessions that it owns:
//
//	s, err := hostpipe.NewServer(stream, sessions, hostpipe.ServeOptions{Session: id, Lease: log.Lease()})
//	err = s.Serve(ctx)
//
// An append returns after the host's store has confirmed it. Records arrive with every byte
// unchanged, and errors still match their sentinel errors. The process in the container is not
// trusted. It writes only its own session, under the host's lease, and the sessions that this one
// owns. Its records must match their digests and follow the end of the log. Only the host writes
// records that would permit something when the session is resumed: an answer that allows a call, a
// grant, a mode. The one exception is a grant that matches an answer which the host has recorded.
// Keys of models never enter the container.
//
// The threats, what prevents each of them, and the tests:
//
//	threat                                                 defense                  test
//	write into, read or list other sessions                limits.checkWritable, …  TestOtherSessionsAreRefused, TestSecondFirstRecord
//	permit, answer, revoke, move, or ask in another's name limits.checkKind         TestForgedRecords, TestApprovalIDsAreUnique
//	hide content, make the log unreadable, forge times     limits.checkRecord       TestInvalidRecords, FuzzRecord
//	write after the host has lost the session              Server.epoch             TestWriteAfterTakeover
//	use models beyond the run's budget, or to send data    meter, plainNative       TestBudget, TestNativeForms
//	fill memory or disk, or flood the approver             byteSemaphore, limits    TestHostileFrames, TestRecordLimitPerTurn, TestApprovalFlood
//	block the host                                         Server.Submit            TestProcessThatNeverReads
//
// The process can still write anything into its own transcript and send anything to the model,
// within the budget. It can also request permission for one command and then run another one in its
// container.
//
// The package starts no processes (package workspace does) and does not depend on containers.
package hostpipe
