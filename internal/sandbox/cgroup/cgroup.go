package cgroup

import (
	"errors"
	"fmt"
)

// Limits restrict all processes of a group together. 0 means no limit.
type Limits struct {
	CPUs      float64 // processors: 1.5 is one and a half; at least 0.01
	Memory    int64   // in bytes, including files in tmpfs; swap cannot be used in addition
	Processes int     // processes and threads
}

// ErrUnavailable means that a control group cannot be created.
var ErrUnavailable = errors.New("cannot create a control group")

// UnavailableError reports which limit is not available, and why. It wraps [ErrUnavailable].
type UnavailableError struct {
	Controller string // "pids", "memory" or "cpu"
	Reason     string // "/sys/fs/cgroup/memory is not writable"

	hint string
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("limit of %s: %v: %s", subjects[e.Controller], ErrUnavailable, e.Reason)
}

func (e *UnavailableError) Unwrap() error { return ErrUnavailable }

// Hint returns how to fix the problem.
func (e *UnavailableError) Hint() string { return e.hint }

// The kernel's names of the controllers.
const (
	memory = "memory"
	pids   = "pids"
	cpu    = "cpu"
)

// controllers are the controllers, in the order in which groups are created and ended. The controller
// pids is first, because all processes can be killed only when no process can fork any more.
var controllers = []string{pids, memory, cpu}

var subjects = map[string]string{memory: "memory", pids: "processes", cpu: "processors"}

// minCPUs is the smallest limit that the kernel supports: one millisecond in each tenth of a second.
const minCPUs = 0.01

// needed returns the controllers that the limits require, in the order of known.
func (l *Limits) needed() []string {
	var out []string
	if l.Processes > 0 {
		out = append(out, pids)
	}
	if l.Memory > 0 {
		out = append(out, memory)
	}
	if l.CPUs > 0 {
		out = append(out, cpu)
	}
	return out
}

func (l *Limits) check() error {
	switch {
	case l.Memory < 0:
		return fmt.Errorf("limit of memory: %d bytes is negative", l.Memory)
	case l.Processes < 0:
		return fmt.Errorf("limit of processes: %d is negative", l.Processes)
	case l.CPUs != 0 && !(l.CPUs >= minCPUs && l.CPUs <= maxCPUs):
		return fmt.Errorf("limit of processors: %v is not between %v and %v", l.CPUs, minCPUs, maxCPUs)
	}
	return nil
}

// maxCPUs is the largest limit, so that quotas stay within the range of the kernel's numbers.
const maxCPUs = 1 << 20

// Support describes which limits are available to this process.
type Support struct {
	Controllers []Controller `json:"controllers"` // pids, memory and cpu, in this order
}

// Controller describes the availability of one kind of limit.
type Controller struct {
	Name      string `json:"name"`              // "pids", "memory" or "cpu"
	Available bool   `json:"there"`             // true if a group with this controller can be created
	Version   int    `json:"version,omitempty"` // the version of control groups that has the controller: 1 or 2; 0 if neither has it
	Folder    string `json:"folder,omitempty"`  // the folder in which groups are created
	Reason    string `json:"why,omitempty"`     // the reason why the controller is not available
	Hint      string `json:"hint,omitempty"`    // how to make the controller available
}

// Allows returns nil, or the error that [Open] would return because a controller is missing.
func (s Support) Allows(l Limits) error {
	if err := l.check(); err != nil {
		return err
	}
	for _, name := range l.needed() {
		if c := s.controller(name); !c.Available {
			return &UnavailableError{Controller: name, Reason: c.Reason, hint: c.Hint}
		}
	}
	return nil
}

func (s Support) controller(name string) Controller {
	for _, c := range s.Controllers {
		if c.Name == name {
			return c
		}
	}
	return Controller{Name: name, Reason: "this system has no control groups"}
}
