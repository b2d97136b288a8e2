// Package crashtest kills programs at random times and then checks the stored data. It is a test
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
// The child reports acknowledgements through a pipe. Its tools record that they ran in a [Ledger]
// outside the store. Neither of these depends on the store.
//
// A third kind of trial is about approvals. The child's tool needs an approval. This process, the
// child or a third program (which may be killed, too) answers the approval request. The child is
// killed before the request, while it waits, during the answer, before the tool starts, or while
// the tool runs. Afterwards, it must be possible to answer every approval request, and every
// approval request must have one answer. The tool must have run once if it was allowed, never if it
// was denied, and at most once if it was running when the child was killed.
//
// A fourth kind is about the daemon, in the form in which it is released. The daemon is killed
// while runs request approvals. One client follows over a WebSocket and another over server-sent
// events, and both answer. The next daemon has exactly the events that they received, byte for
// byte, and they continue where they stopped.
//
// A fifth kind is about operations of a user or a model that take more than one step, such as a
// rewind of files or a worktree: the program is killed in the middle. After that, none of its
// processes may still run, every log must verify, everything that the program acknowledged must be
// in the logs, and repeating the operation must complete it.
//
// A sixth kind makes the store of two daemons unavailable, fills its disk, or removes its files. A
// proxy refuses connections, hangs, leaves connections half open or resets them, while runs wait,
// call a model, run tools and append.
//
// A power cut is simulated with an ext4 file system on a loop device in a private mount namespace.
// The file system is shut down without flushing its journal, so that data that was not synced is
// lost. The control runs the same program while a seccomp filter disables fsync and fdatasync. It
// must lose data; otherwise the harness would prove nothing.
//
// A disk that reorders writes is a file that this process serves through FUSE ([LogDisk]). Its
// writes and flushes are logged ([WriteLog]). A crash may leave any subset of the sectors that were
// written after the last flush; many of the possible disks are mounted and checked. Its controls
// are the same program without fsync, and a disk that never flushes.
//
// Other trials make single calls fail with strace, fill disks, and let two processes compete for
// one session. docs/crash-tests.md describes what the trials show, and what they do not.
package crashtest
