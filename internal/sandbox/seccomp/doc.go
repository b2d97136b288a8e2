// Package seccomp makes the filter of system calls that every command of the
// sandbox runs under, and hears which calls were refused.
//
//	Options ─ Filter ─► classic BPF, a search tree over call numbers ─► installed by the child
//
//	call ─► number ─► allowed ─────────────────────► the kernel
//	              ├─► depends on arguments ─► …
//	              ├─► opens for writing, with Options.Writes ─► Watcher ─► told, the kernel
//	              ├─► refused, as an attack or a mistake ─► Watcher ─► told, EPERM
//	              ├─► refused, but tried in passing by many ─► EPERM
//	              └─► unknown, or cannot be looked at ─► ENOSYS
//
// A call that no table knows, because a later kernel brought it, does not exist
// for the command (ENOSYS). Arguments are compared as the kernel reads them: of an
// int only the low half, so that nothing is hidden behind the high one.
//
// The shortest use, in a process that is about to become the command:
//
//	program, err := seccomp.Filter(&seccomp.Options{Notify: true})
//	// prctl(PR_SET_NO_NEW_PRIVS), seccomp(SECCOMP_SET_MODE_FILTER, …, program); and by its listener
//	w := seccomp.Watch(listener, nil)
//	// … the command ends
//	refused := w.Done()
//
// The filter is one wall of several: which files and which ports are reached is
// not its affair, since it does not see what pointers lead to.
package seccomp
