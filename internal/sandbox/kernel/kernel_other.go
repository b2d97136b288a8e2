//go:build !linux || !(amd64 || arm64)

package kernel

import (
	"os"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/sandbox/seccomp"
)

// Jail starts commands under one policy.
type Jail struct{}

// Process is a command that was started.
type Process struct{}

// Refused returns nothing.
func (*Process) Refused() []seccomp.Refusal { return nil }

// Prepare returns [ErrUnsupported]: this system has no kernel sandbox.
func Prepare(*Policy) (*Jail, error) { return nil, ErrUnsupported }

// Weaker returns true: this system has no namespaces.
func (*Jail) Weaker() bool { return true }

// TempDir returns "".
func (*Jail) TempDir() string { return "" }

// Caches returns "".
func (*Jail) Caches() string { return "" }

// TakeNamespacesFrom does nothing.
func (*Jail) TakeNamespacesFrom(*Jail) {}

// IsPlaceholder returns false.
func IsPlaceholder(string) bool { return false }

// IsPlaceholderFile returns false.
func IsPlaceholderFile(string, os.FileInfo) bool { return false }

// Start returns [ErrUnsupported].
func (*Jail) Start(*Attr) (*Process, error) { return nil, ErrUnsupported }

// Close does nothing.
func (*Jail) Close() error { return nil }

// Pid returns 0.
func (*Process) Pid() int { return 0 }

// Wait returns [ErrUnsupported].
func (*Process) Wait() (*State, error) { return nil, ErrUnsupported }

// Signal returns [ErrUnsupported].
func (*Process) Signal(syscall.Signal) error { return ErrUnsupported }

// Probe reports that this system has no kernel sandbox.
func Probe() []Mechanism {
	return []Mechanism{{Name: "kernel sandbox", Detail: "only Linux on amd64 and arm64 has one", Consequence: "commands run only if the settings allow running unconfined"}}
}

// Namespaces returns [ErrUnsupported].
var Namespaces = func() error { return ErrUnsupported }

// NamespacesOnce returns [ErrUnsupported].
func NamespacesOnce(string) error { return ErrUnsupported }
