package workspace

import (
	"encoding/json"
	"slices"
	"time"
)

// settingsFormat is the version of workspace.json that this package writes.
const settingsFormat = 1

// Settings are a user's choices for a workspace. On disk they are workspace.json; docs/formats/workspace.md
// describes it. Missing fields have defaults, see [Settings.WithDefaults].
type Settings struct {
	// ID, Slug and Created are fixed when the workspace is created. ID distinguishes the workspace
	// from an earlier one of the same name. Create generates it.
	ID      string    `json:"id"`
	Slug    string    `json:"slug"`
	Created time.Time `json:"created"`

	// Project is the host folder that is /work in the container. It is an absolute path without
	// links. "" means a folder inside the workspace, which is deleted with the workspace.
	Project string `json:"project,omitempty"`
	// Image is the name of the container's image in the engine; "" is the image that `holdfast
	// workspace image build` builds.
	Image string    `json:"image,omitempty"`
	Agent AgentSpec `json:"agent"`
	// Model is the name of the model as the agent knows it; "" is the agent's default.
	Model   string  `json:"model,omitempty"`
	Limits  Limits  `json:"limits"`
	Network Network `json:"network"`
	Mounts  []Mount `json:"mounts,omitempty"`
	// Credentials are names of environment variables in the caller's environment. Their values are
	// passed to an agent's process when it starts. They are not stored.
	Credentials []string `json:"credentials,omitempty"`
	// Trust is [Sandboxed].
	Trust Trust `json:"trust"`
}

// The agent kinds.
const (
	KindHoldfast = "holdfast" // Holdfast's built-in agent
	KindClaude   = "claude"   // Claude Code
	KindCodex    = "codex"    // Codex
	KindACP      = "acp"      // any agent that speaks the Agent Client Protocol
)

// AgentSpec selects the agent of the workspace.
type AgentSpec struct {
	Kind string `json:"kind"` // default [KindHoldfast]
	// Command replaces the kind's command. [KindACP] requires it, and [KindHoldfast] does not allow it.
	Command []string `json:"command,omitempty"`
}

// Limits apply to all processes of the container together.
type Limits struct {
	Memory Bytes   `json:"memory"` // default 2g; swap is disabled
	CPUs   float64 `json:"cpus"`   // default 2
	PIDs   int64   `json:"pids"`   // processes and threads, default 512
	// Disk limits the home, and the project if it is inside the workspace; default 20g, [Unlimited] is no limit.
	// It is checked before each turn and repeatedly during a turn.
	Disk Bytes `json:"disk"`
}

// The network modes.
const (
	NetworkNone  = "none"  // no network
	NetworkProxy = "proxy" // through Holdfast's egress proxy, which allows Domains
)

// Network says what the container may reach.
type Network struct {
	Mode string `json:"mode"` // default [NetworkNone]
	// Domains are the allowed targets, in the syntax of the sandbox's network.allowedDomains: "api.example.com",
	// "*.example.com:443".
	Domains []string `json:"domains,omitempty"`
}

// Mount is an additional folder or file of the host.
type Mount struct {
	Host     string `json:"host"` // absolute, without links
	Target   string `json:"at"`   // in the container, absolute
	ReadOnly bool   `json:"readonly,omitempty"`
}

// Limits and defaults of [Limits].
const (
	defaultMemory = 2 << 30
	defaultCPUs   = 2
	defaultPIDs   = 512
	defaultDisk   = 20 << 30
	minMemory     = 64 << 20
	minPIDs       = 32
	maxPIDs       = 4 << 20 // the kernel's maximum
	minCPUs       = 0.01
	maxCPUs       = 4096
)

// WithDefaults returns the settings with defaults for all empty fields that have one.
func (s *Settings) WithDefaults() Settings {
	out := s.clone()
	setDefault(&out.Agent.Kind, KindHoldfast)
	setDefault(&out.Limits.Memory, defaultMemory)
	setDefault(&out.Limits.CPUs, defaultCPUs)
	setDefault(&out.Limits.PIDs, defaultPIDs)
	setDefault(&out.Limits.Disk, defaultDisk)
	setDefault(&out.Network.Mode, NetworkNone)
	setDefault(&out.Trust, Sandboxed)
	return out
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (s *Settings) clone() Settings {
	out := *s
	out.Agent.Command = slices.Clone(s.Agent.Command)
	out.Network.Domains = slices.Clone(s.Network.Domains)
	out.Mounts = slices.Clone(s.Mounts)
	out.Credentials = slices.Clone(s.Credentials)
	return out
}

// SessionProject returns the project in the metadata of the workspace's sessions
// ([session.Opened].Project). It is used to list them, and to find the latest one when it is
// resumed. Sessions of an earlier workspace of the same name have another value.
func (s *Settings) SessionProject() string { return "workspace:" + s.Slug + ":" + s.ID }

// encode returns the text of workspace.json.
func (s *Settings) encode() ([]byte, error) {
	b, err := json.MarshalIndent(struct {
		Format int `json:"format"`
		*Settings
	}{settingsFormat, s}, "", "  ")
	return append(b, '\n'), err
}
