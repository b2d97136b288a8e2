package engine

import (
	"context"
	"strings"

	"github.com/moby/moby/client"
)

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
	// Unusable says why a uid inside cannot be made the same as outside: "" where it can.
	Unusable string
}

// Info asks the engine.
func (e *Engine) Info(ctx context.Context) (Info, error) {
	limited, cancel := context.WithTimeout(ctx, slow)
	defer cancel()
	v, err := e.api.ServerVersion(limited, client.ServerVersionOptions{})
	if err != nil {
		return Info{}, e.fail(ctx, "ask the engine for its version", "", err)
	}
	r, err := e.api.Info(limited, client.InfoOptions{})
	if err != nil {
		return Info{}, e.fail(ctx, "ask the engine about itself", "", err)
	}
	info := Info{
		Name: "Docker " + v.Version, API: e.api.ClientVersion(),
		CPUs: r.Info.NCPU, Memory: r.Info.MemTotal, Cgroup: r.Info.CgroupVersion,
	}
	podman := false
	for _, c := range v.Components {
		if strings.HasPrefix(c.Name, "Podman") {
			podman, info.Name = true, "Podman "+c.Version
		}
	}
	remapped := false
	for _, o := range r.Info.SecurityOptions {
		switch name, _, _ := strings.Cut(strings.TrimPrefix(o, "name="), ","); name {
		case "rootless":
			info.Rootless = true
		case "userns":
			remapped = true
		}
	}
	switch {
	case podman && info.Rootless:
		info.UserNS = "keep-id"
	case info.Rootless:
		info.Unusable = "rootless Docker gives every user but root another uid outside, so that folders would not be the agent's"
	case remapped:
		info.UserNS = "host"
	}
	return info, nil
}
