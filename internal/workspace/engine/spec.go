package engine

import (
	"fmt"
	"io/fs"
	"slices"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"
)

// Spec is a container to be made. What it does not name is locked down.
type Spec struct {
	Name     string            `json:"name"`
	Image    string            `json:"image"` // an id: a name may mean another image tomorrow
	Labels   map[string]string `json:"labels"`
	Command  []string          `json:"command"` // in place of the image's entrypoint and command
	User     string            `json:"user"`    // "uid:gid"
	Hostname string            `json:"hostname"`
	Dir      string            `json:"dir"` // where the command starts
	Env      []string          `json:"env"` // everybody who may inspect the container reads it
	Mounts   []Mount           `json:"mounts"`
	Tmpfs    []Tmpfs           `json:"tmpfs"`
	Memory   int64             `json:"memory"`  // bytes, without swap; 0 is no limit
	NanoCPUs int64             `json:"cpus"`    // billionths of a CPU; 0 is no limit
	PIDs     int64             `json:"pids"`    // processes and threads; 0 is no limit
	Files    int64             `json:"files"`   // open files of a process; 0 is the engine's default
	UserNS   string            `json:"userns"`  // "", "host" or "keep-id", see [Info.UserNS]
	Seccomp  string            `json:"seccomp"` // "" or "builtin", see [Info.Seccomp]
	Remove   bool              `json:"remove"`  // the engine removes it when it ends
	LogBytes int64             `json:"logSize"` // how much of its output the engine keeps; 0 is 1 MiB
}

// Mount is a folder or socket of the host.
type Mount struct {
	Source   string `json:"source"` // absolute; the engine follows links, so its owner has checked it
	Target   string `json:"target"`
	ReadOnly bool   `json:"readonly"`
}

// Tmpfs is a folder in memory. Programs may be run from it.
type Tmpfs struct {
	Target string      `json:"target"`
	Size   int64       `json:"size"` // bytes; 0 is half of the machine's memory
	Mode   fs.FileMode `json:"mode"` // of a folder that the image has not; of one that it has, the image's
	UID    int         `json:"uid"`
	GID    int         `json:"gid"`
}

// request says the same in the API's words, with everything that locks it down.
func (s Spec) request() client.ContainerCreateOptions {
	yes, logBytes := true, s.LogBytes
	if logBytes == 0 {
		logBytes = 1 << 20
	}
	host := &container.HostConfig{
		NetworkMode:    "none",
		Init:           &yes,
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges"}, // the default filter of system calls stays
		ReadonlyRootfs: true,
		IpcMode:        container.IPCModePrivate,
		AutoRemove:     s.Remove,
		UsernsMode:     container.UsernsMode(s.UserNS),
		LogConfig:      container.LogConfig{Type: "json-file", Config: map[string]string{"max-size": fmt.Sprint(logBytes), "max-file": "1"}},
		Tmpfs:          map[string]string{},
		Resources: container.Resources{
			Memory:     s.Memory,
			MemorySwap: s.Memory, // with swap: what is over is not swapped out but refused
			NanoCPUs:   s.NanoCPUs,
			Ulimits:    []*container.Ulimit{{Name: "core"}}, // a core would hold what a process knows
		},
	}
	if s.PIDs > 0 {
		host.PidsLimit = &s.PIDs
	}
	if s.Files > 0 {
		host.Ulimits = append(host.Ulimits, &container.Ulimit{Name: "nofile", Soft: s.Files, Hard: s.Files})
	}
	if s.Seccomp != "" {
		host.SecurityOpt = append(host.SecurityOpt, "seccomp="+s.Seccomp)
	}
	for _, m := range s.Mounts {
		host.Mounts = append(host.Mounts, mount.Mount{
			Type: mount.TypeBind, Source: m.Source, Target: m.Target, ReadOnly: m.ReadOnly,
			BindOptions: &mount.BindOptions{Propagation: mount.PropagationRPrivate},
		})
	}
	for _, t := range s.Tmpfs {
		host.Tmpfs[t.Target] = t.options()
	}
	return client.ContainerCreateOptions{
		Name:       s.Name,
		HostConfig: host,
		Config: &container.Config{
			Image: s.Image, User: s.User, Hostname: s.Hostname, WorkingDir: s.Dir,
			Env: slices.Clone(s.Env), Labels: s.Labels,
			Entrypoint: s.Command, Cmd: []string{}, StopSignal: "SIGTERM", // whatever the image's is
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}}, // an image's own would run as well
		},
	}
}

func (t Tmpfs) options() string {
	out := fmt.Sprintf("rw,exec,nosuid,nodev,mode=%o,uid=%d,gid=%d", unixMode(t.Mode), t.UID, t.GID)
	if t.Size > 0 {
		out += fmt.Sprintf(",size=%d", t.Size)
	}
	return out
}

func unixMode(m fs.FileMode) uint32 {
	out := uint32(m.Perm())
	if m&fs.ModeSticky != 0 {
		out |= 0o1000
	}
	return out
}
