package sandbox

import (
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/policy"
)

// Settings are the Open Agent SDK's SandboxSettings, field by field. The zero value restricts nothing.
//
// A path means the tree below it. It may start with "~" or "$HOME" and is relative to [Options].Dir;
// it is not a pattern. A command is the name or the path of a program.
type Settings struct {
	AllowedReadPaths  []string  `json:"allowedReadPaths,omitempty"`  // empty: everything is readable
	AllowedWritePaths []string  `json:"allowedWritePaths,omitempty"` // empty: everything is writable
	DeniedPaths       []string  `json:"deniedPaths,omitempty"`       // overrides both
	DeniedCommands    []string  `json:"deniedCommands,omitempty"`
	AllowedCommands   *[]string `json:"allowedCommands,omitempty"` // if set, only these commands are allowed, and DeniedCommands is ignored

	// These allow more. Nil: not set, which differs from false, see [Open].
	AllowNestedSandbox        *bool `json:"allowNestedSandbox,omitempty"`        // commands may create namespaces
	AutoAllowBashIfSandboxed  *bool `json:"autoAllowBashIfSandboxed,omitempty"`  // if true, a confined command needs no approval
	AllowUnsandboxedCommands  *bool `json:"allowUnsandboxedCommands,omitempty"`  // if true, the model may request approval to run a command outside the sandbox
	EnableWeakerNestedSandbox *bool `json:"enableWeakerNestedSandbox,omitempty"` // if true, Landlock and seccomp are sufficient when there are no namespaces

	IgnoreViolations map[string][]string `json:"ignoreViolations,omitzero"` // nil: not set, which differs from {}
	Network          *Network            `json:"network,omitempty"`
	Ripgrep          *Ripgrep            `json:"ripgrep,omitempty"`

	// The following fields are not in the Open Agent SDK.
	ProtectedPaths       []string `json:"protectedPaths,omitempty"`       // paths that can be read, but not written, created, moved or removed, even inside AllowedWritePaths
	StrictProtectedPaths *bool    `json:"strictProtectedPaths,omitempty"` // placeholders block missing protected names while commands run; otherwise a file that takes such a name is moved to quarantine
	AdditionalWritePaths []string `json:"additionalWritePaths,omitempty"` // paths that are writable in addition to the workspace; restricts nothing, and allows nothing that AllowedWritePaths of any layer excludes
	AdditionalReadPaths  []string `json:"additionalReadPaths,omitempty"`  // secrets of the built-in list that commands may read, each by its name ("~/.npmrc"); allows nothing that DeniedPaths or AllowedReadPaths of any layer excludes
	ExcludedCommands     []string `json:"excludedCommands,omitempty"`     // commands such as "docker" and "git push" that may run outside the kernel sandbox; this always needs approval
	Limits               *Limits  `json:"limits,omitempty"`
	Enabled              *bool    `json:"enabled,omitempty"` // if false, the whole block has no effect; nil means true
}

// clone returns a deep copy of the settings.
func (s *Settings) clone() Settings {
	c := *s
	for _, l := range []*[]string{
		&c.AllowedReadPaths, &c.AllowedWritePaths, &c.DeniedPaths, &c.DeniedCommands, &c.ProtectedPaths, &c.AdditionalWritePaths, &c.AdditionalReadPaths, &c.ExcludedCommands,
	} {
		*l = slices.Clone(*l)
	}
	for _, b := range []**bool{
		&c.AllowNestedSandbox, &c.AutoAllowBashIfSandboxed, &c.AllowUnsandboxedCommands, &c.EnableWeakerNestedSandbox, &c.StrictProtectedPaths, &c.Enabled,
	} {
		*b = clonePointer(*b)
	}
	if c.AllowedCommands != nil {
		c.AllowedCommands = new(slices.Clone(*c.AllowedCommands))
	}
	c.IgnoreViolations = maps.Clone(c.IgnoreViolations)
	for key, list := range c.IgnoreViolations {
		c.IgnoreViolations[key] = slices.Clone(list)
	}
	c.Limits = clonePointer(c.Limits)
	if n := clonePointer(c.Network); n != nil {
		n.AllowedDomains, n.DeniedDomains = slices.Clone(n.AllowedDomains), slices.Clone(n.DeniedDomains)
		n.HTTPProxyPort, n.SOCKSProxyPort = clonePointer(n.HTTPProxyPort), clonePointer(n.SOCKSProxyPort)
		n.AllowLocalBinding, n.Ask = clonePointer(n.AllowLocalBinding), clonePointer(n.Ask)
		c.Network = n
	}
	return c
}

func clonePointer[T any](p *T) *T {
	if p == nil {
		return nil
	}
	return new(*p)
}

// Network is the Open Agent SDK's SandboxNetworkConfig. Its zero value allows no host.
type Network struct {
	AllowedDomains          []string `json:"allowedDomains"` // entries such as "api.example.com", "*.example.com" (any depth below it) and "*"
	AllowManagedDomainsOnly bool     `json:"allowManagedDomainsOnly"`
	AllowLocalBinding       *bool    `json:"allowLocalBinding,omitempty"` // whether commands may listen on localhost and connect to it; nil means only on the command's private localhost
	AllowUnixSockets        bool     `json:"allowUnixSockets"`
	AllowAllUnixSockets     bool     `json:"allowAllUnixSockets"`
	HTTPProxyPort           *int     `json:"httpProxyPort"`
	SOCKSProxyPort          *int     `json:"socksProxyPort"`

	DeniedDomains []string `json:"deniedDomains,omitempty"` // entries that override AllowedDomains; not in the Open Agent SDK
	Ask           *bool    `json:"ask,omitempty"`           // whether a host on no list needs approval; nil means if an approver is available; not in the Open Agent SDK
}

// Ripgrep is the program used for searches.
type Ripgrep struct {
	Command string    `json:"command"`
	Args    *[]string `json:"args,omitempty"` // nil means not set, which differs from []
}

// Error rejects settings: a field that cannot be used ([Settings.Decode], [NewChecker]), or that
// cannot be enforced in a workspace ([Open]).
type Error struct {
	Field  string        // path of the field, such as "deniedPaths[1]"; "" for the whole block, and if no setting is at fault
	Offset int           // offset in bytes, set by [Settings.Decode]
	Origin policy.Origin // position of the setting, set by [Open]
	Detail string
	Err    error // the kernel's error, set by [Open]

	hint string
}

func (e *Error) Error() string {
	text := e.Detail
	if e.Field != "" {
		text = e.Field + ": " + text
	}
	if where := position(e.Origin); where != "" {
		text = where + ": " + text
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Hint returns how to fix the error.
func (e *Error) Hint() string { return e.hint }

// Unwrap returns the kernel's error, or nil.
func (e *Error) Unwrap() error { return e.Err }
