// Package seccomp makes the filter of system calls that every command of the
// sandbox runs under, and hears which calls were refused.
//
//	Options ─ Filter ─► classic BPF, a search tree over call numbers ─► installed by the child
//	refused call ─► notification ─► Watcher ─► "ptrace was refused", then EPERM
//
// A call that no table knows, because a later kernel brought it, does not exist
// for the command (ENOSYS).
package seccomp
