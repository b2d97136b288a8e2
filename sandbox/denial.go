package sandbox

import (
	"strings"

	"github.com/holdfast-dev/holdfast/policy"
)

// Denial is the error for a path, command or host that a setting denies. Its text is the Open Agent
// SDK's.
type Denial struct {
	Tool    string // "Read", "Write", "Bash" or "WebFetch", derived from the operation, as in the Open Agent SDK
	Subject string // the path, program or host, as given
	Path    string // the canonical path, if the denial is about a path
	Reason  string // a sentence such as "command 'rm' is denied by sandbox policy"
	Setting string // "deniedCommands", "allowedReadPaths", …
	Rule    string // the entry that decided, or ""

	kind string // the kind in the log: "command", "path_read", "path_write", "host"
	asks bool   // true if the user may allow the connection, see network.ask
}

func (d *Denial) Error() string { return "Permission denied for " + d.Tool + ": " + d.Reason }

// Hint returns how the user could allow it.
func (d *Denial) Hint() string {
	switch {
	case d.Rule != "":
		return "to allow this, remove " + d.Rule + " from " + d.Setting
	case d.kind == kindUnclear:
		return "write it out in full; holdfast sandbox explain shows what can be parsed"
	case d.Setting == fieldAllowedCommands:
		return "to allow this, add " + d.Subject + " to " + d.Setting
	case d.Setting == fieldDomains:
		return "to allow this, add the host to " + d.Setting
	case strings.HasPrefix(d.Setting, "allowed"):
		return "to allow this, add the folder to " + d.Setting
	}
	return ""
}

// These are the names of settings in denials.
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

// These are the kinds of denials in the log.
const (
	kindCommand = "command"
	kindUnclear = "unclear"
	kindRead    = "path_read"
	kindWrite   = "path_write"
)

// verb returns an operation on a path as used in messages and reports.
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
