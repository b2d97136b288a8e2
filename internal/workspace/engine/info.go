package engine

import (
	"context"
	"strings"
)

// serverVersion is what an engine answers about its version.
type serverVersion struct {
	Version, Os, Arch string
	Components        []struct{ Name, Version string }
}

// Info is what an engine says about itself.
type Info struct {
	Name     string // "Docker 20.10.24", "Podman 4.3.1"
	API      string // the version that is spoken
	CPUs     int
	Memory   int64  // bytes
	Cgroup   string // "1" or "2"
	Rootless bool   // it runs with a person's rights
	// UserNS is what [Spec.UserNS] must be, so that a uid inside is the same outside and
	// can use the folders that are mounted: "" where it is so anyway.
	UserNS string
	// Seccomp is what [Spec.Seccomp] must be, so that system calls are filtered: "" where
	// they are anyway.
	Seccomp string
	// Unusable says why the engine cannot do what workspaces rest on, "" where it can:
	// the same uid inside and outside, limits, a filter of system calls. Advice says what
	// to do about it.
	Unusable, Advice string
}

// Info asks the engine.
func (e *Engine) Info(ctx context.Context) (Info, error) {
	limited, cancel := context.WithTimeout(ctx, longTimeout)
	defer cancel()
	var v serverVersion
	if err := e.api.get(limited, "/version", nil, &v); err != nil {
		return Info{}, e.fail(ctx, "ask the engine for its version", "", err)
	}
	var r struct {
		NCPU                   int
		MemTotal               int64
		CgroupVersion          string
		SecurityOptions        []string
		MemoryLimit, PidsLimit bool
	}
	if err := e.api.get(limited, "/info", nil, &r); err != nil {
		return Info{}, e.fail(ctx, "ask the engine about itself", "", err)
	}
	info := Info{
		Name: "Docker " + v.Version, API: e.api.api,
		CPUs: r.NCPU, Memory: r.MemTotal, Cgroup: r.CgroupVersion,
	}
	podman := false
	for _, c := range v.Components {
		if strings.HasPrefix(c.Name, "Podman") {
			podman, info.Name = true, "Podman "+c.Version
		}
	}
	remapped, filters, unconfined := false, false, false
	for _, o := range r.SecurityOptions {
		switch name, rest, _ := strings.Cut(strings.TrimPrefix(o, "name="), ","); name {
		case "rootless":
			info.Rootless = true
		case "userns":
			remapped = true
		case "seccomp":
			filters, unconfined = true, rest == "profile=unconfined"
		}
	}
	if unconfined && !podman && !older(info.API, builtinAPI) {
		info.Seccomp, unconfined = "builtin", false
	}
	const use = "use Podman, or a Docker that is not rootless; DOCKER_HOST names it"
	switch {
	case podman && info.Rootless:
		info.UserNS = "keep-id"
	case info.Rootless:
		info.Unusable, info.Advice = "rootless Docker gives every user but root another uid outside, so that folders would not be the agent's", use
	case remapped:
		info.UserNS = "host"
	}
	switch { // what the engine would otherwise leave out without a word
	case info.Unusable != "":
	case !r.MemoryLimit:
		info.Unusable, info.Advice = "it holds no container to a limit of memory", "give the kernel the parameters cgroup_enable=memory swapaccount=1, and start it anew"
	case !r.PidsLimit:
		info.Unusable, info.Advice = "it holds no container to a number of processes", "use a kernel with the cgroup controller pids"
	case !filters, unconfined:
		info.Unusable, info.Advice = "it filters no system calls (seccomp)", "take seccomp-profile out of /etc/docker/daemon.json, or use a kernel with seccomp"
	}
	return info, nil
}

// builtinAPI is the first API whose engine takes the name of its own filter: Docker 23.
const builtinAPI = "1.42"
