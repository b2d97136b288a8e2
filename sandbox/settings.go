package sandbox

import (
	"maps"
	"slices"

	"github.com/holdfast-dev/holdfast/policy"
)

// Settings are seed 000's SandboxSettings, field by field. The zero value
// restricts nothing.
//
// A path means the tree below it. It may start with "~" or "$HOME", and is
// relative to [Options].Dir; it holds no pattern. A command is the name of a
// program, or the path of one.
type Settings struct {
	AllowedReadPaths  []string  `json:"allowedReadPaths,omitempty"`  // empty: everything may be read
	AllowedWritePaths []string  `json:"allowedWritePaths,omitempty"` // empty: everything may be written
	DeniedPaths       []string  `json:"deniedPaths,omitempty"`       // beats both
	DeniedCommands    []string  `json:"deniedCommands,omitempty"`
	AllowedCommands   *[]string `json:"allowedCommands,omitempty"` // set: only these, and DeniedCommands does not matter

	// These loosen. Nil: not set, which differs from false, see [Open].
	AllowNestedSandbox        *bool `json:"allowNestedSandbox,omitempty"`        // commands may make namespaces of their own
	AutoAllowBashIfSandboxed  *bool `json:"autoAllowBashIfSandboxed,omitempty"`  // no question for a command that runs confined
	AllowUnsandboxedCommands  *bool `json:"allowUnsandboxedCommands,omitempty"`  // the model may ask a person for a run outside
	EnableWeakerNestedSandbox *bool `json:"enableWeakerNestedSandbox,omitempty"` // without namespaces, Landlock and seccomp will do

	IgnoreViolations map[string][]string `json:"ignoreViolations,omitzero"` // nil: not set, which differs from {}
	Network          *Network            `json:"network,omitempty"`
	Ripgrep          *Ripgrep            `json:"ripgrep,omitempty"`

	// These are beyond seed 000.
	ProtectedPaths       []string `json:"protectedPaths,omitempty"`       // readable, but never written, made, moved or removed: also inside AllowedWritePaths
	StrictProtectedPaths *bool    `json:"strictProtectedPaths,omitempty"` // protected names that are not there are taken by placeholders while commands run; else what takes one is moved away
	AdditionalWritePaths []string `json:"additionalWritePaths,omitempty"` // may be written besides the workspace; restricts nothing, and opens nothing that AllowedWritePaths of any layer closes
	AdditionalReadPaths  []string `json:"additionalReadPaths,omitempty"`  // secrets of the built-in list that commands may read, each by its name ("~/.npmrc"); opens nothing that DeniedPaths or AllowedReadPaths of any layer closes
	ExcludedCommands     []string `json:"excludedCommands,omitempty"`     // "docker", "git push": may run outside the kernel sandbox; always a question to a person
	Limits               *Limits  `json:"limits,omitempty"`
	Enabled              *bool    `json:"enabled,omitempty"` // false: the whole block has no say; nil is true
}

// clone returns settings that share nothing with s that can change.
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

// Network is seed 000's SandboxNetworkConfig. Its zero value reaches no host.
type Network struct {
	AllowedDomains          []string `json:"allowedDomains"` // "api.example.com", "*.example.com" (any depth below it), "*"
	AllowManagedDomainsOnly bool     `json:"allowManagedDomainsOnly"`
	AllowLocalBinding       *bool    `json:"allowLocalBinding,omitempty"` // listen on localhost and reach it; nil: on one of the command's own only
	AllowUnixSockets        bool     `json:"allowUnixSockets"`
	AllowAllUnixSockets     bool     `json:"allowAllUnixSockets"`
	HTTPProxyPort           *int     `json:"httpProxyPort"`
	SOCKSProxyPort          *int     `json:"socksProxyPort"`

	DeniedDomains []string `json:"deniedDomains,omitempty"` // beats AllowedDomains; beyond seed 000
	Ask           *bool    `json:"ask,omitempty"`           // a host that is in no list is a question to a person; nil: where a sandbox can ask one; beyond seed 000
}

// Ripgrep names the program that searches.
type Ripgrep struct {
	Command string    `json:"command"`
	Args    *[]string `json:"args,omitempty"` // nil: not set, which differs from []
}

// Error refuses settings: a field that cannot be used ([Settings.Decode], [NewChecker]), or one
// that cannot be held in a workspace ([Open]).
type Error struct {
	Field  string        // "deniedPaths[1]"; "" for the whole, and when no setting is at fault
	Offset int           // of [Settings.Decode]: in bytes
	Origin policy.Origin // of [Open]: where the setting was written
	Detail string
	Err    error // of [Open]: what the kernel said

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

// Hint says what to do.
func (e *Error) Hint() string { return e.hint }

// Unwrap returns what the kernel said, or nil.
func (e *Error) Unwrap() error { return e.Err }
