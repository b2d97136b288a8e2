package cgroup

import (
	"errors"
	"fmt"
)

// Limits bound all processes of a group together. 0 is no limit.
type Limits struct {
	CPUs      float64 // processors: 1.5 is one and a half; at least 0.01
	Memory    int64   // bytes, with what is in tmpfs; swap gives no more
	Processes int     // processes and threads
}

// ErrUnavailable says that cannot create a control group.
var ErrUnavailable = errors.New("cannot create a control group")

// UnavailableError says which limit cannot be had, and why. It is an [ErrUnavailable].
type UnavailableError struct {
	Controller string // "pids", "memory" or "cpu"
	Reason     string // "/sys/fs/cgroup/memory is not writable"

	hint string
}

func (e *UnavailableError) Error() string {
	return fmt.Sprintf("limit of %s: %v: %s", subjects[e.Controller], ErrUnavailable, e.Reason)
}

func (e *UnavailableError) Unwrap() error { return ErrUnavailable }

// Hint says what to do.
func (e *UnavailableError) Hint() string { return e.hint }

// The controllers, as the kernel names them.
const (
	memory = "memory"
	pids   = "pids"
	cpu    = "cpu"
)

// known are the controllers, in the order in which groups are made and ended: where
// no fork succeeds any more, all that is left can be killed.
var known = []string{pids, memory, cpu}

var subjects = map[string]string{memory: "memory", pids: "processes", cpu: "processors"}

// minCPUs is the least that the kernel can give: a millisecond in each tenth of a second.
const minCPUs = 0.01

// needed lists the controllers that the limits need, in the order of known.
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

// maxCPUs keeps quotas within the kernel's numbers.
const maxCPUs = 1 << 20

// Support says what groups can do on this machine, for the process that asks.
type Support struct {
	Controllers []Controller `json:"controllers"` // pids, memory and cpu, in this order
}

// Controller is one kind of limit.
type Controller struct {
	Name      string `json:"name"`              // "pids", "memory" or "cpu"
	Available bool   `json:"there"`             // a group with it can be made
	Version   int    `json:"version,omitempty"` // of control groups: 1 or 2; 0: none has it
	Folder    string `json:"folder,omitempty"`  // groups are made in it
	Reason    string `json:"why,omitempty"`     // it is not there
	Hint      string `json:"hint,omitempty"`    // what to do then
}

// Allows returns nil, or what [Open] would return for lack of a controller.
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
