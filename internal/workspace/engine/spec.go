package engine

import (
	"fmt"
	"io/fs"
)

// Spec describes a container to create. The restrictions in the package's documentation always
// apply.
type Spec struct {
	Name     string            `json:"name"`
	Image    string            `json:"image"` // an id, because a name may later belong to another image
	Labels   map[string]string `json:"labels"`
	Command  []string          `json:"command"` // replaces the image's entrypoint and command
	User     string            `json:"user"`    // "uid:gid"
	Hostname string            `json:"hostname"`
	Dir      string            `json:"dir"` // the command's working folder
	Env      []string          `json:"env"` // every user who may inspect the container can read these values
	Mounts   []Mount           `json:"mounts"`
	Tmpfs    []Tmpfs           `json:"tmpfs"`
	Memory   int64             `json:"memory"`  // bytes, without swap; 0 is no limit
	NanoCPUs int64             `json:"cpus"`    // billionths of a CPU; 0 is no limit
	PIDs     int64             `json:"pids"`    // processes and threads; 0 is no limit
	Files    int64             `json:"files"`   // open files of a process; 0 is the engine's default
	UserNS   string            `json:"userns"`  // "", "host" or "keep-id", see [Info.UserNS]
	Seccomp  string            `json:"seccomp"` // "" or "builtin", see [Info.Seccomp]
	Remove   bool              `json:"remove"`  // the engine removes the container when it ends
	LogBytes int64             `json:"logSize"` // maximum size of the output that the engine keeps; 0 is 1 MiB
}

// Mount is a folder or socket of the host.
type Mount struct {
	Source   string `json:"source"` // absolute; the engine follows links, so the caller must check the path
	Target   string `json:"target"`
	ReadOnly bool   `json:"readonly"`
}

// Tmpfs is a folder in memory. It allows executing programs.
type Tmpfs struct {
	Target string      `json:"target"`
	Size   int64       `json:"size"` // bytes; 0 is half of the machine's memory
	Mode   fs.FileMode `json:"mode"` // for a folder that the image does not have; otherwise the image's mode is used
	UID    int         `json:"uid"`
	GID    int         `json:"gid"`
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
