// Package cgroup limits the memory, the number of processes and the processor time of a group of
// processes. For each controller it uses version 1 or 2 of the kernel's control groups, whichever
// has the controller and is writable.
//
//	Limits ─► Open ─► holdfast-<pid>-<random>/   in each hierarchy that is needed,
//	            │        memory.max, pids.max …   below the group of this process
//	            │
//	            ├─ Procs ──► a child writes "0" into each: it is in the group
//	            ├─ OOM, Peak ► what happened in it
//	            └─ Close ──► kills the remaining processes and removes the folders
//
//	g, err := cgroup.Open(cgroup.Limits{Memory: 1 << 30, Processes: 200})
//	if errors.Is(err, cgroup.ErrUnavailable) { … } // report it, or fall back
//	defer g.Close()
//
// A group is created below the group of the process that creates it, so the limits of that process
// also apply. In version 1 the parent is that process's own group. In version 2 a group with
// processes cannot give controllers to groups below it. The parent is therefore the nearest group
// above it that can do so. To have write access to it, this process must run as root, or systemd
// must grant it (Delegate=yes).
//
// Each folder is locked (flock) while the process that created it lives. [Open] removes unlocked folders,
// kills the processes in them, and does not touch others: unlike a process id, the lock means the same in
// every pid namespace.
//
// Version 1 is tested with the kernel, and so is killing processes in version 2. Everything else
// that is specific to version 2 is tested with prepared folders: it has not run on a machine on
// which version 2 has the controllers.
//
// The package does not start processes and does not use rlimits.
package cgroup
