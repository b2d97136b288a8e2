// Package crashtest kills programs at random times and checks what is left. It is a test
// harness and not part of the shipped program.
//
//	parent                         child (the same test binary, started again)
//	  start ──────────────────────►  open store, resume the session, check pairing
//	  ◄── ack session seq digest ──  a run with tool calls; reports every acknowledged append
//	  kill -9, or cut the power      … killed in the middle of an operation
//	  open the store again, verify:
//	    every acknowledged record is stored, digest for digest, and the chain is valid
//	    the metadata is what the records fold to
//	    no tool ran twice, and none ran without a start in the log
//	  start the next child on the same session
//
// The child reports acknowledgements through a pipe, and tools note that they ran in a
// [Ledger] outside the store: neither depends on the store.
//
// A third kind of trial is about approvals: the child's tool needs an approval, and the child
// is killed before the request, while it waits, while this process, the child or a third
// program (which may be killed too) answers, before the tool starts and while it runs.
// Afterwards every approval request can be answered and has one answer. Its tool ran once if
// it was allowed, never if it was denied, and at most once if it was running when the child
// was killed.
//
// A fourth kind is about the daemon, as it ships: it is killed while runs request approvals,
// one client follows over a WebSocket, another over server-sent events, and both answer. The
// next daemon has what they received, byte for byte, and they continue where they were.
//
// A fifth kind is about operations of a user or a model that take more than one step, such as
// a rewind of files or a worktree: the program is killed in the middle. No process of it may
// survive, every log must verify, everything it acknowledged must be in the logs, and repeating
// the operation must complete it.
//
// A sixth kind makes the store of two daemons unavailable, fills its disk, or removes its
// files. A proxy refuses connections, hangs, leaves them half open or resets them, while runs
// wait, call a model, run tools and append.
//
// A power cut is an ext4 file system on a loop device, in a private mount namespace, which is
// shut down without flushing its journal: what was not synced is lost. The control runs the
// same program with fsync and fdatasync disabled by a seccomp filter, and must lose something;
// otherwise the harness would prove nothing.
//
// A disk that reorders writes is a file that this process serves through FUSE ([LogDisk]) and
// that logs its writes and flushes ([WriteLog]). A crash may leave any subset of the sectors
// that no flush followed; many of these possible disks are mounted and checked. Its controls
// are the program without fsync and a disk that never flushes.
//
// Other trials let calls fail one by one through strace, fill disks, and let two processes
// compete for one session. docs/crash-tests.md describes what the trials show, and what they
// do not.
package crashtest
