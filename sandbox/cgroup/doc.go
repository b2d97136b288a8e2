// Package cgroup bounds memory, processes and processor time of a group of
// processes, with version 1 or 2 of the kernel's control groups, whichever has
// the controller and may be written here.
package cgroup
