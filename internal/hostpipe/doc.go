// Package hostpipe lets an agent in a container write a log that the host keeps, ask the
// models that the host has the keys of, and the people who sit there.
//
//	 inside                                            host
//	┌──────────────┐  append, read, list, lease, watch  ┌──────────────────────────┐
//	│ agent.Agent  ├───────────────────────────────────►│ bounds ─► session.Store  │
//	│   on Client  │  stream                            │ Server  ─► model.Model   │
//	│              ├───────────────────────────────────►│         ─► approval      │
//	│              │  events, in the order of the log   │         ─► host's view   │
//	│              ├───────────────────────────────────►│                          │
//	│              │◄─────────────── submit, interrupt ─┤                          │
//	└──────────────┘   frames over one two-way stream   └──────────────────────────┘
//
// Inside, a [Client] is a [session.Store] like any other:
//
//	c := logpipe.Dial(stream, nil)
//	defer c.Close()
//	sessions := session.New(c, nil)
//
// On the host a [Server] serves one session, and those that it owns, over one stream:
//
//	s, err := logpipe.NewServer(stream, sessions, logpipe.ServeOptions{Session: id, Lease: log.Lease()})
//	err = s.Serve(ctx)
//
// An append returns when the host's store has acknowledged it, records keep every byte,
// and errors keep their contracts. The process inside is not trusted: it reads and writes
// its own session only, under the host's lease; its records must fit their digests and
// follow the log; and what would permit something to whoever goes on with the session,
// an answer that allows, a grant, a mode, is taken from it only if the host has it on
// record. Keys of models never go inside.
//
// What is bounded, and where it is tried:
//
//	what it could do                                       what holds it            test
//	write into, read or list what is another's             limits.writable, …       TestOthersAreRefused, TestOpenedAgain
//	permit, answer, revoke, move, or ask in another's name limits.mayWrite          TestForgedRecords, TestQuestionsAreAskedOnce
//	hide content, leave the log unreadable, lie in time    limits.checkRecord             TestInvalidRecords, FuzzRecord
//	write when the host has lost the session               Server.epoch             TestWriteAfterTakeover
//	use models beyond the run's budget, or as a way out    meter, plainNative       TestBudget, TestNativeForms
//	fill memory, disk, or a person's time                  bounded, room, bounds    TestHostileFrames, TestMoreThanATurnWrites, TestFloodOfQuestions
//	hang whoever waits for it                              Server.Submit            TestDeafProcess
//
// What it can do: say what it likes in its own transcript and to the model, within the
// budget, and ask about one command and run another, in its container.
//
// The package starts no process (package workspace does) and knows no container.
package hostpipe
