package engine

import (
	"fmt"
	"slices"
)

// The request that creates a container, with the names of the API. A field of the API that is
// missing here has its zero value in the engine.
type (
	createRequest struct {
		Image, User, Hostname, WorkingDir string
		Env                               []string
		Labels                            map[string]string
		Entrypoint, Cmd                   []string
		StopSignal                        string
		Healthcheck                       healthcheck
		HostConfig                        hostConfig
	}
	healthcheck struct{ Test []string }
	hostConfig  struct {
		NetworkMode, IpcMode, UsernsMode string
		Init, ReadonlyRootfs, AutoRemove bool
		CapDrop, SecurityOpt             []string
		LogConfig                        logConfig
		Memory, MemorySwap               int64
		NanoCPUs                         int64 `json:"NanoCpus"`
		PidsLimit                        int64 `json:",omitempty"`
		Ulimits                          []ulimit
		Mounts                           []bindMount       `json:",omitempty"`
		Tmpfs                            map[string]string `json:",omitempty"`
	}
	logConfig struct {
		Type   string
		Config map[string]string
	}
	ulimit struct {
		Name       string
		Soft, Hard int64
	}
	bindMount struct {
		Type, Source, Target string
		ReadOnly             bool
		BindOptions          struct{ Propagation string }
	}
)

// request returns the request that creates the container, with everything that restricts it.
func (s Spec) request() createRequest {
	logBytes := s.LogBytes
	if logBytes == 0 {
		logBytes = 1 << 20
	}
	host := hostConfig{
		NetworkMode:    "none",
		Init:           true,
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges"}, // the default system call filter stays
		ReadonlyRootfs: true,
		IpcMode:        "private",
		AutoRemove:     s.Remove,
		UsernsMode:     s.UserNS,
		LogConfig:      logConfig{Type: "json-file", Config: map[string]string{"max-size": fmt.Sprint(logBytes), "max-file": "1"}},
		Tmpfs:          map[string]string{},
		Memory:         s.Memory,
		MemorySwap:     s.Memory, // includes swap: if processes exceed the limit they are killed, not swapped
		NanoCPUs:       s.NanoCPUs,
		PidsLimit:      max(s.PIDs, 0),
		Ulimits:        []ulimit{{Name: "core"}}, // a core dump would contain the memory of a process
	}
	if s.Files > 0 {
		host.Ulimits = append(host.Ulimits, ulimit{Name: "nofile", Soft: s.Files, Hard: s.Files})
	}
	if s.Seccomp != "" {
		host.SecurityOpt = append(host.SecurityOpt, "seccomp="+s.Seccomp)
	}
	for _, m := range s.Mounts {
		bind := bindMount{Type: "bind", Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly}
		bind.BindOptions.Propagation = "rprivate"
		host.Mounts = append(host.Mounts, bind)
	}
	for _, t := range s.Tmpfs {
		host.Tmpfs[t.Target] = t.options()
	}
	return createRequest{
		Image: s.Image, User: s.User, Hostname: s.Hostname, WorkingDir: s.Dir,
		Env: slices.Clone(s.Env), Labels: s.Labels,
		Entrypoint: s.Command, Cmd: []string{}, StopSignal: "SIGTERM", // overrides the image's
		Healthcheck: healthcheck{Test: []string{"NONE"}}, // an image's health check would run as well
		HostConfig:  host,
	}
}
