// Package kernel runs commands that the Linux kernel confines to a [Policy]: with namespaces, mounts,
// Landlock, seccomp, capabilities, rlimits and a control group.
//
//	Policy ─ Prepare ─► Jail ─ Start ─► program: a list of raw system calls
//	                                       │ clone3 into new namespaces, sharing memory
//	                                       ▼
//	            mounts ─► listener ─► rlimits ─► no capabilities ─► Landlock ─► seccomp ─► init ─► the command
//
// No helper program is needed. The child process runs the list of system calls before it executes
// anything, in a few lines of assembly that use no stack. If sharing memory is not possible, a copy
// of this binary runs the same list. Commands that cannot use a network share one user namespace
// with an empty network, because creating one for each command would take longer than all other
// steps together.
//
// No step is skipped silently: a step that fails stops the command, and the error names the step.
package kernel
