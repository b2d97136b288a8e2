package engine

import (
	"context"
	"strings"
)

// serverVersion is an engine's response about its version.
type serverVersion struct {
	Version, Os, Arch string
	Components        []struct{ Name, Version string }
}

// Info describes an engine.
type Info struct {
	Name     string // "Docker 20.10.24", "Podman 4.3.1"
	API      string // the API version in use
	CPUs     int
	Memory   int64  // bytes
	Cgroup   string // "1" or "2"
	Rootless bool   // it runs with a user's permissions
	// UserNS is the required [Spec.UserNS] so that a uid is the same inside and outside the container and can use
	// the mounted folders: "" if it is the same by default.
	UserNS string
	// Seccomp is the required [Spec.Seccomp] so that system calls are filtered: "" if they are filtered by
	// default.
	Seccomp string
	// Unusable says why the engine lacks a requirement of workspaces: equal uids inside and
	// outside, resource limits, a system call filter. It is "" if the engine meets all
	// requirements. Advice says how the user can fix this.
	Unusable, Advice string
}

// Info queries the engine.
func (e *Engine) Info(ctx context.Context) (Info, error) {
	limited, cancel := context.WithTimeout(ctx, longTimeout)
	defer cancel()
	var v serverVersion
	if err := e.api.get(limited, "/version", nil, &v); err != nil {
		return Info{}, e.fail(ctx, "query the engine's version", "", err)
	}
	var r struct {
		NCPU                   int
		MemTotal               int64
		CgroupVersion          string
		SecurityOptions        []string
		MemoryLimit, PidsLimit bool
	}
	if err := e.api.get(limited, "/info", nil, &r); err != nil {
		return Info{}, e.fail(ctx, "query the engine's properties", "", err)
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
	const use = "use Podman, or a Docker that is not rootless, and set DOCKER_HOST to it"
	switch {
	case podman && info.Rootless:
		info.UserNS = "keep-id"
	case info.Rootless:
		info.Unusable, info.Advice = "rootless Docker maps every user except root to another uid, so the agent could not use its folders", use
	case remapped:
		info.UserNS = "host"
	}
	switch { // features that the engine would ignore without an error
	case info.Unusable != "":
	case !r.MemoryLimit:
		info.Unusable, info.Advice = "the engine cannot enforce memory limits", "start the kernel with the parameters cgroup_enable=memory swapaccount=1"
	case !r.PidsLimit:
		info.Unusable, info.Advice = "the engine cannot limit the number of processes", "use a kernel with the cgroup controller pids"
	case !filters, unconfined:
		info.Unusable, info.Advice = "the engine does not filter system calls (seccomp)", "remove seccomp-profile from /etc/docker/daemon.json, or use a kernel with seccomp"
	}
	return info, nil
}

// builtinAPI is the first API version that accepts the name of the engine's own filter: Docker 23.
const builtinAPI = "1.42"
