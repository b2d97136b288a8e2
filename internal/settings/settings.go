package settings

import (
	"time"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// Value is a setting with its origin.
type Value[T any] struct {
	Value  T             `json:"value"`
	Origin policy.Origin `json:"origin,omitzero"`
}

// UnattendedPolicy says what happens to an approval request if no one is at the terminal.
type UnattendedPolicy string

// The policies: deny the call, wait for an answer from elsewhere, or end the run and leave the
// request open.
const (
	UnattendedDeny    UnattendedPolicy = "deny"
	UnattendedWait    UnattendedPolicy = "wait"
	UnattendedSuspend UnattendedPolicy = "fail"
)

// Settings is the combination of all layers. It is immutable.
type Settings struct {
	Project string  // the project's folder, without links
	Layers  []Layer // the strongest first; only existing ones

	Rules      []policy.RuleSource     // of all layers, the strongest first
	Mode       Value[policy.Mode]      // "" if not set
	Folders    []Value[string]         // additionalDirectories: absolute
	Forbidden  []Value[string]         // globs of files that no tool may access
	OnAsk      Value[UnattendedPolicy] // "" if not set
	AskTimeout Value[time.Duration]    // how long an approval request waits; 0 if not set
	// AllowOverride lets the model request a single exception from a deny of the session.
	AllowOverride Value[bool]
	NoBypass      *policy.Origin // the setting that disables the mode bypassPermissions, or nil
	Sandboxes     []Sandbox      // each restricts independently
	Hooks         []Hook         // of all layers, the strongest first, including those that do not run
	Secrets       Masking
	Texts         Texts
	Compaction    Compaction
	WebSearch     WebSearch
	WebFetch      WebFetch
	Models        Models
	Env           map[string]Value[string] // variables of commands, by name; see [Settings.Environ]
	OutputStyle   Value[string]            // "" if not set
	Terminal      Terminal
	StatusLine    StatusLine
	MCPServers    []MCPServer          // sorted by name, including those that are not started
	Plugins       []Plugin             // the strongest layer first
	Warnings      []Problem            // settings that have no effect and allow nothing
	Ignored       []Ignored            // ignored settings of an untrusted folder
	Foreign       []UnsupportedSetting // settings of other programs that have no effect in Holdfast

	StrictHooks      Value[bool]    // failing hooks block
	NoHooks          Value[bool]    // disableAllHooks: if true, only managed hooks run
	ManagedHooksOnly *policy.Origin // the setting that allows only managed hooks to run, or nil
	removedHooks     []TrustedHook  // guarding hooks that were removed from the folder
	HookURLs         []Value[string]
	HookEnv          []Value[string] // httpHookAllowedEnvVars; no limit without HookEnvLimited
	HookEnvLimited   bool

	mcp           mcpRules
	values        []leaf            // of all layers, the strongest first
	readsForeign  bool              // true if files of other programs are read
	projectDigest string            // digest of the project's settings
	foreignDigest string            // digest of the project's settings of other programs
	texts         map[string]string // texts of the project's settings files, by name
	opt           Options
}

// Layer is one settings file, or the flags.
type Layer struct {
	Layer     string `json:"layer"`
	File      string `json:"file"`
	Rules     int    `json:"rules"`
	Untrusted bool   `json:"untrusted,omitempty"` // true if the layer may deny and ask, but not allow
	Program   string `json:"from,omitempty"`      // the program whose file it is: claude, codex
}

// Sandbox is the sandbox block of one layer.
type Sandbox struct {
	Origin   policy.Origin     `json:"origin"`
	Dir      string            `json:"-"` // base of the block's relative paths
	Settings *sandbox.Settings `json:"settings"`
	// An untrusted block can restrict; its settings that would loosen are ignored.
	Untrusted bool `json:"untrusted,omitempty"`

	checker *sandbox.Checker
	loosens []Ignored // settings that are ignored while the layer is untrusted
}

// Ignored is a setting of an untrusted project that has no effect.
type Ignored struct {
	Setting string        `json:"what"` // "allow rule", "defaultMode acceptEdits"
	Origin  policy.Origin `json:"origin"`
}
