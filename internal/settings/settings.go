package settings

import (
	"time"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// Value is a setting with where it was said.
type Value[T any] struct {
	Value  T             `json:"value"`
	Origin policy.Origin `json:"origin,omitzero"`
}

// UnattendedPolicy says what becomes of a question when nobody is at the terminal.
type UnattendedPolicy string

// The ways: refuse the call, wait until somebody answers from elsewhere, or end
// the run and leave the question open.
const (
	UnattendedDeny    UnattendedPolicy = "deny"
	UnattendedWait    UnattendedPolicy = "wait"
	UnattendedSuspend UnattendedPolicy = "fail"
)

// Settings are what all layers say together. It does not change.
type Settings struct {
	Project string  // the project's folder, without links
	Layers  []Layer // the strongest first; only what is there

	Rules      []policy.RuleSource     // of all layers, the strongest first
	Mode       Value[policy.Mode]      // "" when nobody says
	Folders    []Value[string]         // additionalDirectories: absolute
	Forbidden  []Value[string]         // globs of files that nobody may touch
	OnAsk      Value[UnattendedPolicy] // "" when nobody says
	AskTimeout Value[time.Duration]    // 0 when nobody says
	// AllowOverride: the model may ask for one exception from a deny of the session.
	AllowOverride Value[bool]
	NoBypass      *policy.Origin // who disables the mode bypassPermissions, or nil
	Sandboxes     []Sandbox      // each restricts by itself
	Hooks         []Hook         // of all layers, the strongest first, also those that do not run
	Secrets       Masking
	Texts         Texts
	Compaction    Compaction
	WebSearch     WebSearch
	WebFetch      WebFetch
	Models        Models
	Env           map[string]Value[string] // of commands, by name; see [Settings.Environ]
	OutputStyle   Value[string]            // "" when nobody says
	MCPServers    []MCPServer              // by name, also those that are not started
	Warnings      []Problem                // what can have no effect, but opens nothing
	Ignored       []Ignored                // what an untrusted folder asks for
	Foreign       []UnsupportedSetting     // what other programs' settings say that has no effect here

	StrictHooks      Value[bool]    // what cannot be asked blocks
	NoHooks          Value[bool]    // disableAllHooks: none but the administrator's run
	ManagedHooksOnly *policy.Origin // who wants none but the administrator's, or nil
	removedHooks     []TrustedHook  // that guarded, and are not in the folder any more
	HookURLs         []Value[string]
	HookEnv          []Value[string] // httpHookAllowedEnvVars; without HookEnvBound nothing is bounded
	HookEnvBound     bool

	mcp         mcpRules
	values      []leaf            // of all layers, the strongest first
	others      bool              // files of other programs are read
	folderHooks string            // the digest of what the project's folder brings along
	foreign     string            // the digest of what it brings along for other programs
	texts       map[string]string // what the files of brought say, by name
	opt         Options
}

// Layer is one settings file, or what flags say.
type Layer struct {
	Layer     string `json:"layer"`
	File      string `json:"file"`
	Rules     int    `json:"rules"`
	Untrusted bool   `json:"untrusted,omitempty"` // it may forbid and ask, but not allow
	Program   string `json:"from,omitempty"`      // another program, whose file it is: claude, codex
}

// Sandbox is the sandbox block of one layer.
type Sandbox struct {
	Origin   policy.Origin     `json:"origin"`
	Dir      string            `json:"-"` // what its relative paths are relative to
	Settings *sandbox.Settings `json:"settings"`
	// Untrusted: it may restrict; what would loosen is ignored.
	Untrusted bool `json:"untrusted,omitempty"`

	checker *sandbox.Checker
	loosens []Ignored // what is ignored while it is untrusted
}

// Ignored is a setting of an untrusted project that has no effect.
type Ignored struct {
	Setting string        `json:"what"` // "allow rule", "defaultMode acceptEdits"
	Origin  policy.Origin `json:"origin"`
}
