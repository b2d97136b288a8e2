package sandbox

import (
	"strings"

	"github.com/holdfast-dev/holdfast/policy"
)

// Denial refuses a path, a command or a host. Its text is seed 000's; it says
// which setting refused.
type Denial struct {
	Tool    string // "Read", "Write", "Bash" or "WebFetch", derived from the operation as in the seed
	Subject string // the path, the program or the host, as it was given
	Path    string // the canonical path, when it is about one
	Reason  string // "command 'rm' is denied by sandbox policy"
	Setting string // "deniedCommands", "allowedReadPaths", …
	Rule    string // the entry that decided, or ""

	kind string // as it is logged: "command", "path_read", "path_write", "host"
	asks bool   // a person may allow it: see network.ask
}

func (d *Denial) Error() string { return "Permission denied for " + d.Tool + ": " + d.Reason }

// Hint says what a person could do about it.
func (d *Denial) Hint() string {
	switch {
	case d.Rule != "":
		return "take " + d.Rule + " out of " + d.Setting + " if this is to be allowed"
	case d.kind == kindUnclear:
		return "write it out; holdfast sandbox explain shows what can be read"
	case d.Setting == fieldAllowedCommands:
		return "add " + d.Subject + " to " + d.Setting + " if this is to be allowed"
	case d.Setting == fieldDomains:
		return "add the host to " + d.Setting + " if this is to be allowed"
	case strings.HasPrefix(d.Setting, "allowed"):
		return "add the folder to " + d.Setting + " if this is to be allowed"
	}
	return ""
}

// The names of settings, as denials say them.
const (
	fieldReadPaths       = "allowedReadPaths"
	fieldWritePaths      = "allowedWritePaths"
	fieldDeniedPaths     = "deniedPaths"
	fieldDeniedCommands  = "deniedCommands"
	fieldAllowedCommands = "allowedCommands"
	fieldDomains         = "network.allowedDomains"
	fieldDeniedDomains   = "network.deniedDomains"
	fieldLocal           = "network.allowLocalBinding"
	fieldUnixSockets     = "network.allowUnixSockets"
	fieldProtectedPaths  = "protectedPaths"
	fieldAdditional      = "additionalWritePaths"
	fieldReadMore        = "additionalReadPaths"
	fieldExcluded        = "excludedCommands"
	fieldIgnore          = "ignoreViolations"
)

// What a denial is about, as it is logged.
const (
	kindCommand = "command"
	kindUnclear = "unclear"
	kindRead    = "path_read"
	kindWrite   = "path_write"
)

// verb is an operation on a path as texts and reports have it.
func verb(op policy.Operation) string {
	switch op {
	case policy.OpRead:
		return "read"
	case policy.OpWrite:
		return "write"
	case policy.OpExec:
		return "run"
	}
	return string(op)
}

func pathDenial(tool, path string, op policy.Operation) *Denial {
	kind := kindRead
	if op == policy.OpWrite {
		kind = kindWrite
	}
	return &Denial{Tool: tool, Subject: path, Reason: "path '" + path + "' is outside allowed " + verb(op) + " scope", kind: kind}
}
