//go:build linux && (amd64 || arm64)

package kernel

import "syscall"

// Jail starts commands under one policy. It is safe for concurrent use.
type Jail struct{}

// Process is a command that was started.
type Process struct{}

// Prepare looks at what the policy names and what the kernel can do. A policy that
// cannot be held whole is an error; [Policy].Weaker widens what is accepted.
func Prepare(*Policy) (*Jail, error) { return nil, ErrUnsupported }

// Weaker says whether commands run without namespaces.
func (j *Jail) Weaker() bool { return false }

// Start starts a command and returns when the kernel has made its process. That
// it could not be executed, a *[StartError], may come from Wait only.
func (j *Jail) Start(*Attr) (*Process, error) { return nil, ErrUnsupported }

// Close removes what was made for the commands. They should have ended.
func (j *Jail) Close() error { return nil }

// Pid returns the process id, as the host counts.
func (p *Process) Pid() int { return 0 }

// Wait waits until the command has ended, and everything that it started.
func (p *Process) Wait() (*State, error) { return nil, ErrUnsupported }

// Signal sends a signal to the command; SIGKILL ends it and all it started.
func (p *Process) Signal(syscall.Signal) error { return ErrUnsupported }

// Probe says what this kernel can do.
func Probe() []Mechanism { return nil }
