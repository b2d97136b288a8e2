//go:build !linux

package cgroup

import "os"

// Group is a control group. This system has none.
type Group struct{}

// Detect reports that no controller is available.
func Detect() Support {
	var out Support
	for _, name := range controllers {
		c := out.controller(name)
		c.Hint = "remove the limit from the settings"
		out.Controllers = append(out.Controllers, c)
	}
	return out
}

// Open creates a group without limits, which does nothing. On this system it returns an
// *[UnavailableError] for any limit.
func Open(l Limits) (*Group, error) {
	if err := Detect().Allows(l); err != nil {
		return nil, err
	}
	return &Group{}, nil
}

// Procs returns nil.
func (g *Group) Procs() []*os.File { return nil }

// OOM returns 0.
func (g *Group) OOM() int { return 0 }

// RefusedForks returns 0.
func (g *Group) RefusedForks() int { return 0 }

// Peak returns 0: it is unknown.
func (g *Group) Peak() int64 { return 0 }

// Kill does nothing.
func (g *Group) Kill() error { return nil }

// Close does nothing.
func (g *Group) Close() error { return nil }
