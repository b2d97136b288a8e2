package cgroup

import "errors"

// Limits bound all processes of a group together. 0 is no limit.
type Limits struct {
	CPUs      float64 // processors: 1.5 is one and a half
	Memory    int64   // bytes, with what is in tmpfs; swap gives no more
	Processes int     // processes and threads
}

// ErrAbsent: no control group can be made here.
var ErrAbsent = errors.New("no control group can be made here")
