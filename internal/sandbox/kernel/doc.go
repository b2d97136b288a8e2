// Package kernel starts commands that the Linux kernel holds to a [Policy]:
// namespaces, mounts, Landlock, seccomp, capabilities, rlimits and a control group.
//
//	Policy ─ Prepare ─► Jail ─ Start ─► program: a list of raw system calls
//	                                       │ clone3 into new namespaces, sharing memory
//	                                       ▼
//	            mounts ─► listener ─► rlimits ─► no capabilities ─► Landlock ─► seccomp ─► init ─► the command
//
// There is no helper program. The child runs the list before it executes anything,
// in a few lines of assembly that use no stack; the same list runs in a copy of
// our own binary where sharing memory is not possible. Commands that can do nothing
// with a network share a user namespace with an empty one: making one for each would
// take longer than all the rest. Nothing is left out
// silently: a step that fails stops the command, and the error names the step.
package kernel
