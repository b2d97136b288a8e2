//go:build linux

package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Group is a control group: one folder in each hierarchy that its limits require. It is safe for concurrent
// use.
type Group struct {
	folders []*folder

	mu        sync.Mutex
	closed    bool
	last      counts // when it was closed
	killForks int    // number of forks that were refused because Kill was running
}

// counts are the numbers of events in a group.
type counts struct {
	oom, forks int
	peak       int64
}

// Open creates a group, and removes groups left by processes that have ended. If the controller for
// a limit is missing, it creates nothing and returns an *[UnavailableError]. Without any limit the
// group has no folders, and no process can be moved into it. The caller closes it.
func Open(l Limits) (*Group, error) { return machine().open(&l) }

func (s *system) open(l *Limits) (*Group, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	places, err := s.places(l.needed())
	if err != nil {
		return nil, err
	}
	g := &Group{}
	for i := range places {
		if err := g.add(s, &places[i], l); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	return g, nil
}

func (g *Group) add(s *system, p *place, l *Limits) error {
	s.sweep(p)
	if len(p.enable) > 0 {
		if err := write(s.root+filepath.Join(p.dir, "cgroup.subtree_control"), "+"+strings.Join(p.enable, " +")); err != nil {
			return refusedError(p, fmt.Errorf("give controllers to groups in it: %w", err))
		}
	}
	f, err := s.make(p)
	if err != nil {
		return refusedError(p, err)
	}
	g.folders = append(g.folders, f)
	if err := f.limit(l); err != nil {
		return err
	}
	f.procs, err = os.OpenFile(filepath.Join(f.path, "cgroup.procs"), os.O_WRONLY, 0)
	return err
}

// refusedError returns an [UnavailableError] if the kernel refused an operation that the folders' rights
// allow. It returns any other error unchanged.
func refusedError(p *place, err error) error {
	for _, e := range []error{fs.ErrPermission, syscall.EROFS, syscall.EBUSY} {
		if errors.Is(err, e) {
			hint := hintV1
			if p.version == 2 {
				hint = hintV2
			}
			return &UnavailableError{Controller: p.controllers[0], Reason: p.dir + ": " + err.Error(), hint: hint}
		}
	}
	return err
}

// Procs returns the group's cgroup.procs files, open for writing, one for each hierarchy. A process
// that writes "0" into each of them moves itself, with all its threads, into the group; its future
// children belong to it too. Even if a child writes to them, the rights of this process apply. The
// files are closed with the group and on exec.
func (g *Group) Procs() []*os.File {
	var out []*os.File
	for _, f := range g.folders {
		out = append(out, f.procs)
	}
	return out
}

// OOM returns the number of processes killed so far because the group used too much memory.
func (g *Group) OOM() int { return g.counts().oom }

// RefusedForks returns how many processes and threads could not be created so far because the limit
// of processes was reached.
func (g *Group) RefusedForks() int { return g.counts().forks }

// Peak returns the maximum memory that the group has used, in bytes, or 0 if unknown.
func (g *Group) Peak() int64 { return g.counts().peak }

func (g *Group) counts() counts {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.readCounts()
}

func (g *Group) readCounts() counts {
	if g.closed {
		return g.last
	}
	var c counts
	for _, f := range g.folders {
		if slices.Contains(f.controllers, memory) {
			if f.version == 2 {
				c.oom, c.peak = int(f.number("memory.events", "oom_kill")), f.number("memory.peak", "")
			} else {
				c.oom, c.peak = int(f.number("memory.oom_control", "oom_kill")), f.number("memory.max_usage_in_bytes", "")
			}
		}
		if slices.Contains(f.controllers, pids) {
			c.forks = int(f.number("pids.events", "max")) - g.killForks
		}
	}
	return c
}

// Kill kills all processes of the group and waits until none runs. The group can be used again; the kernel
// counts a killed process in [Limits].Processes until its parent has waited for it. The error names a process
// that does not end.
func (g *Group) Kill() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	return g.kill()
}

func (g *Group) kill() error {
	before, deadline := g.readCounts().forks, time.Now().Add(closeTime)
	err := eachFolder(g.folders, func(f *folder) error { return f.kill(deadline) })
	g.killForks += g.readCounts().forks - before
	return err
}

// Close kills the remaining processes of the group and removes it. Further calls do nothing.
func (g *Group) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil
	}
	err := g.kill()
	g.last = g.readCounts()
	g.closed = true
	deadline := time.Now().Add(closeTime)
	return errors.Join(err, eachFolder(g.folders, func(f *folder) error {
		var errs []error
		if f.procs != nil {
			errs = append(errs, f.procs.Close())
		}
		return errors.Join(append(errs, f.remove(deadline), f.lock.Close())...)
	}))
}
