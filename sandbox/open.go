package sandbox

import (
	"context"
	"log/slog"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox/kernel"
)

// OpenOptions adjust [Open].
type OpenOptions struct {
	// Folders are the workspace: what may be written when no settings name
	// allowedWritePaths. The first is where commands start. Default: the current folder.
	Folders []string
	Home    string   // the person's home folder; default the user's
	State   []string // folders of ours, such as $HOLDFAST_HOME: never visible inside

	// Temp is a folder that commands see as /tmp, so that what one leaves there the
	// next one finds. Default: each command has a fresh one in memory.
	Temp string

	// Ask decides about a host that no list names, when settings say ask. Nil: refused.
	Ask func(ctx context.Context, host string, port int) (bool, error)
	// Log gets what is refused. Nil: nothing is logged.
	Log *slog.Logger
}

// Sandbox runs commands that the kernel holds to settings. It is safe for
// concurrent use.
type Sandbox struct {
	policy kernel.Policy
	jail   *kernel.Jail
}

// Open prepares a sandbox in which all of the checkers' settings hold: what one of
// them refuses is refused. What cannot be enforced here is an error. The caller
// closes it.
func Open(list []*Checker, o *OpenOptions) (*Sandbox, error) {
	return nil, kernel.ErrUnsupported
}

// Close ends the sandbox. Commands that still run are killed.
func (s *Sandbox) Close() error { return nil }

// Violation is something that the sandbox refused.
type Violation struct {
	Kind    string        `json:"kind"`              // "path", "host", "syscall", "limit"
	What    string        `json:"what"`              // "/etc/x", "evil.test:443", "ptrace", "memory"
	Op      string        `json:"op,omitempty"`      // "read", "write", "run", "connect"
	Setting string        `json:"setting,omitempty"` // "allowedWritePaths"; "" is built in
	Origin  policy.Origin `json:"origin,omitzero"`   // where the setting was written
	Hint    string        `json:"hint,omitempty"`    // how to allow it, when that is possible
}
