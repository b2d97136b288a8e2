// Package seccomp builds the system call filter of sandboxed commands and records which calls were refused.
//
//	Options ─ Filter ─► classic BPF, a search tree over call numbers ─► installed by the child
//
//	call ─► number ─► allowed ─────────────────────► the kernel
//	              ├─► depends on arguments ─► …
//	              ├─► opens for writing, with Options.Writes ─► Watcher ─► reported, the kernel
//	              ├─► refused, as an attack or a mistake ─► Watcher ─► reported, EPERM
//	              ├─► refused, but tried routinely by many programs ─► EPERM
//	              └─► unknown, or cannot be checked ─► ENOSYS
//
// If the tables do not contain a call, because a later kernel added it, the call returns ENOSYS, as
// if it did not exist. Arguments are compared as the kernel reads them. For an int that is only the
// low half, so that the high half cannot hide anything.
//
// The shortest use, in a process that is about to become the command:
//
//	program, err := seccomp.Filter(&seccomp.Options{Notify: true})
//	// prctl(PR_SET_NO_NEW_PRIVS), seccomp(SECCOMP_SET_MODE_FILTER, …, program); then with its listener
//	w := seccomp.Watch(listener, nil)
//	// … the command ends
//	refused := w.Done()
//
// The filter cannot follow pointers, so it does not restrict which files and ports a command can
// reach. Mounts and Landlock do that.
package seccomp
