package workspace

import (
	"encoding/json"
	"slices"
	"time"
)

// settingsFormat is the version of workspace.json that this package writes.
const settingsFormat = 1

// Settings are what a person decides about a workspace. On disk they are
// workspace.json; docs/formats/workspace.md describes it. Fields that are left out
// have defaults, see [Settings.WithDefaults].
type Settings struct {
	// ID, Slug and Created are fixed when the workspace is made. The id tells it from an
	// earlier one of the same name; Create makes it.
	ID      string    `json:"id"`
	Slug    string    `json:"slug"`
	Created time.Time `json:"created"`

	// Project is the folder of the host that is /work inside: absolute, without links.
	// "" is a folder that belongs to the workspace and is deleted with it.
	Project string `json:"project,omitempty"`
	// Image is what the container is made of, as the engine names it; "" is the one that
	// `holdfast workspace image build` makes.
	Image string    `json:"image,omitempty"`
	Agent AgentSpec `json:"agent"`
	// Model is the agent's name of the model, "" is its default.
	Model   string  `json:"model,omitempty"`
	Limits  Limits  `json:"limits"`
	Network Network `json:"network"`
	Mounts  []Mount `json:"mounts,omitempty"`
	// Credentials are names of variables of the caller's environment. Their values are
	// handed to an agent's process when it is started and are kept nowhere.
	Credentials []string `json:"credentials,omitempty"`
	// Trust is [Sandboxed].
	Trust Trust `json:"trust"`
}

// The kinds of agents.
const (
	KindHoldfast = "holdfast" // our own loop
	KindClaude   = "claude"   // Claude Code
	KindCodex    = "codex"    // Codex
	KindACP      = "acp"      // any that speaks the Agent Client Protocol
)

// AgentSpec says which agent works in the workspace.
type AgentSpec struct {
	Kind string `json:"kind"` // default [KindHoldfast]
	// Command starts the agent in place of the kind's own; [KindACP] needs one, and
	// [KindHoldfast] takes none.
	Command []string `json:"command,omitempty"`
}

// Limits bound what all processes of the container use together.
type Limits struct {
	Memory Bytes   `json:"memory"` // default 2g; there is no swap besides
	CPUs   float64 `json:"cpus"`   // default 2
	PIDs   int64   `json:"pids"`   // processes and threads, default 512
	// Disk bounds the home, and the project where it belongs to the workspace; default
	// 20g, [Unlimited] is none. It is looked at before each turn, and now and then while
	// one runs.
	Disk Bytes `json:"disk"`
}

// The ways to the network.
const (
	NetworkNone  = "none"  // none at all
	NetworkProxy = "proxy" // through our proxy, which lets Domains through
)

// Network says what the container may reach.
type Network struct {
	Mode string `json:"mode"` // default [NetworkNone]
	// Domains are what the proxy lets through, in the terms of the sandbox's
	// network.allowedDomains: "api.example.com", "*.example.com:443".
	Domains []string `json:"domains,omitempty"`
}

// Mount is a further folder or file of the host.
type Mount struct {
	Host     string `json:"host"` // absolute, without links
	Target   string `json:"at"`   // in the container, absolute
	ReadOnly bool   `json:"readonly,omitempty"`
}

// The bounds and defaults of [Limits].
const (
	defaultMemory = 2 << 30
	defaultCPUs   = 2
	defaultPIDs   = 512
	defaultDisk   = 20 << 30
	minMemory     = 64 << 20
	minPIDs       = 32
	maxPIDs       = 4 << 20 // as many as the kernel has
	minCPUs       = 0.01
	maxCPUs       = 4096
)

// WithDefaults returns the settings with every field filled in that is empty and has a
// default.
func (s *Settings) WithDefaults() Settings {
	out := s.clone()
	fill(&out.Agent.Kind, KindHoldfast)
	fill(&out.Limits.Memory, defaultMemory)
	fill(&out.Limits.CPUs, defaultCPUs)
	fill(&out.Limits.PIDs, defaultPIDs)
	fill(&out.Limits.Disk, defaultDisk)
	fill(&out.Network.Mode, NetworkNone)
	fill(&out.Trust, Sandboxed)
	return out
}

func fill[T comparable](field *T, value T) {
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

// SessionProject is the [session.Opened.Project] of the sessions of the workspace: a
// list of them is a list by this, and going on with the last one means the last one
// here. Sessions of an earlier workspace of the same name have another.
func (s *Settings) SessionProject() string { return "workspace:" + s.Slug + ":" + s.ID }

// encode is the text of workspace.json.
func (s *Settings) encode() ([]byte, error) {
	b, err := json.MarshalIndent(struct {
		Format int `json:"format"`
		*Settings
	}{settingsFormat, s}, "", "  ")
	return append(b, '\n'), err
}
