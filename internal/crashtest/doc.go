// Package crashtest kills programs at random moments and looks at what is left.
// It is a harness for tests and no part of what ships.
//
//	parent                         child (the same test binary, started again)
//	  start ──────────────────────►  open store, resume the session, check pairing
//	  ◄── ack session seq digest ──  a run with tool calls; every acknowledged append is told
//	  kill -9, or cut the power      … gone in the middle of something
//	  open the store again, verify:
//	    every acknowledged record is there, digest for digest, and the chain holds
//	    the metadata is what the records fold to
//	    no tool ran twice, and none ran whose start is not in the log
//	  start the next child on the same session
//
// Acknowledgements travel through a pipe, and tools note that they ran in a
// [Ledger] that lies outside the store: both survive what happens to the store.
//
// A third kind of trial is about questions: the child's tool has to be allowed, and
// the child is killed before it asks, while it waits, while this process, the child
// or a third program (which may be killed too) answers, before the tool starts and
// while it runs. Afterwards every question that was put can be answered, has one
// answer, and its tool ran once when that was yes, never when it was no, and at
// most once when the kill met it running.
//
// A fourth kind is about the daemon, the program as it ships: it is killed while runs
// ask, one client follows over a WebSocket and another over server-sent events, and
// both answer. The next daemon has what they heard, byte for byte, and they go on
// where they were.
//
// A fifth kind is about what a person or a model does that takes more than one step, such
// as a rewind of files or a worktree: the program is killed while it does it. No process
// of it lives on, every log verifies, what it said is in them, and the same once more
// comes to the end.
//
// A sixth kind takes the store away from two daemons, or the disk's space, or the store's
// files: by a proxy that refuses, hangs, leaves connections half open or resets them, while
// runs wait, talk to a model, run tools and append.
//
// A power cut is an ext4 file system on a loop device, mounted where nobody else
// sees it, which is shut down without flushing its journal: what was not synced
// is gone. The control runs the same program with fsync and fdatasync turned
// into nothing by a seccomp filter, and has to lose something; otherwise the
// harness would prove nothing.
//
// A disk that reorders is a file that this process serves through FUSE ([LogDisk]) and
// that logs its writes and flushes ([WriteLog]). Of the disks that a crash may have
// left, with any subset of the sectors that no flush followed, many are mounted and
// looked at. Its controls are the program without fsync and a disk that never flushes.
//
// Calls are let fail one by one through strace, disks are filled, and two processes
// contend for one session. docs/crash-tests.md says what all of it shows, and what not.
package crashtest
