// Package cgroup bounds memory, processes and processor time of a group of
// processes, with version 1 or 2 of the kernel's control groups, whichever has
// the controller and may be written here.
//
//	Limits ─► Open ─► holdfast-<pid>-<random>/   in each hierarchy that is needed,
//	            │        memory.max, pids.max …   below the group that we are in
//	            │
//	            ├─ Procs ──► a child writes "0" into each: it is in the group
//	            ├─ OOM, Peak ► what happened in it
//	            └─ Close ──► what is left is killed, the folders go
//
//	g, err := cgroup.Open(cgroup.Limits{Memory: 1 << 30, Processes: 200})
//	if errors.Is(err, cgroup.ErrAbsent) { … } // say so, or fall back
//	defer g.Close()
//
// A group stays where its maker is, so that what bounds the maker bounds it, too.
// In version 1 that is the maker's own group. In version 2 a group that has
// processes cannot give controllers to groups below it, so it is the nearest group
// above that can; rights to it come from systemd (Delegate=yes), or from being root.
//
// Each folder is locked (flock) as long as its maker lives. [Open] removes folders
// that nobody has locked, with what still runs in them, and touches no others: the
// lock, unlike a process id, means the same in every pid namespace.
//
// Version 1 is tested against the kernel; so is the killing of version 2. What else
// is special to version 2 is tested with folders as data: it has not run on a
// machine where version 2 has the controllers.
//
// The package does not start processes, and it knows nothing of rlimits.
package cgroup
