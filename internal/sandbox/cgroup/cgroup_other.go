//go:build !linux

package cgroup

import "os"

// Group is a control group. There are none on this system.
type Group struct{}

// Detect finds nothing on this system.
func Detect() Support {
	var out Support
	for _, name := range known {
		c := out.controller(name)
		c.Hint = "remove the limit from the settings"
		out.Controllers = append(out.Controllers, c)
	}
	return out
}

// Open makes a group without limits, which does nothing; any limit is an
// *[UnavailableError] on this system.
func Open(l Limits) (*Group, error) {
	if err := Detect().Allows(l); err != nil {
		return nil, err
	}
	return &Group{}, nil
}

// Procs are the lists of the group's processes: none.
func (g *Group) Procs() []*os.File { return nil }

// OOM counts the processes that were killed for the group's memory: none.
func (g *Group) OOM() int { return 0 }

// RefusedForks counts the forks that failed for the limit of processes: none.
func (g *Group) RefusedForks() int { return 0 }

// Peak is the most memory that the group had: it is not known.
func (g *Group) Peak() int64 { return 0 }

// Kill does nothing.
func (g *Group) Kill() error { return nil }

// Close does nothing.
func (g *Group) Close() error { return nil }
