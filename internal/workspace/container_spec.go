package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/internal/version"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// The labels of Holdfast's containers.
const (
	labelHome      = "dev.holdfast.home"         // sha256 of the path of HOLDFAST_HOME
	labelWorkspace = "dev.holdfast.workspace"    // the workspace name
	labelID        = "dev.holdfast.workspace.id" // id of the workspace; an earlier workspace of the same name has another id
	labelConfig    = "dev.holdfast.config"       // hash of everything that determines the container
	labelVersion   = "dev.holdfast.version"      // version of holdfast that created it
	labelEphemeral = "dev.holdfast.ephemeral"    // id of an ephemeral container; its folder has the same name
)

// layoutVersion is the version of the rules by which this package derives a container from settings.
const layoutVersion = 1

// homeHash identifies a HOLDFAST_HOME.
func (w *Workspaces) homeHash() string {
	sum := sha256.Sum256([]byte(resolveLinks(w.home)))
	return hex.EncodeToString(sum[:])
}

// containerName returns the name of a workspace's container.
func (w *Workspaces) containerName(slug string) string {
	return "holdfast-" + w.homeHash()[:8] + "-" + slug
}

// hostFolders has the host folders that a container gets in addition to those in the settings. An empty
// home means a home in memory.
type hostFolders struct{ home, run, project string }

// spec returns the specification of a workspace's container.
func (w *Workspaces) spec(s *Settings, at hostFolders, image string, info engine.Info) engine.Spec {
	uid, gid := agentUser()
	spec := engine.Spec{
		Name:     w.containerName(s.Slug),
		Image:    image,
		Labels:   map[string]string{labelHome: w.homeHash(), labelWorkspace: s.Slug, labelID: s.ID},
		Command:  []string{Program, "supervise"},
		User:     fmt.Sprintf("%d:%d", uid, gid),
		Hostname: s.Slug,
		Dir:      WorkFolder,
		Env:      []string{"HOME=" + homeFolder}, // an image may set another HOME for that user
		Mounts: []engine.Mount{
			{Source: at.project, Target: WorkFolder},
			{Source: at.run, Target: supervisor.Folder},
		},
		Tmpfs:    tmpfsMounts(uid, gid, int64(s.Limits.Memory)/2, "/tmp", "/var/tmp"),
		Memory:   int64(s.Limits.Memory),
		NanoCPUs: nanoCPUs(s.Limits.CPUs, info.CPUs),
		PIDs:     s.Limits.PIDs,
		Files:    openFiles,
		UserNS:   info.UserNS,
		Seccomp:  info.Seccomp,
	}
	if at.home != "" {
		spec.Mounts = append(spec.Mounts, engine.Mount{Source: at.home, Target: homeFolder})
	} else {
		spec.Tmpfs = append(spec.Tmpfs, tmpfsMounts(uid, gid, int64(s.Limits.Memory)/2, homeFolder)...)
		spec.Tmpfs[len(spec.Tmpfs)-1].Mode = 0o700
	}
	for _, m := range s.Mounts {
		spec.Mounts = append(spec.Mounts, engine.Mount{Source: m.Host, Target: m.Target, ReadOnly: m.ReadOnly})
	}
	spec.Labels[labelConfig] = configHash(spec, s.Network)
	spec.Labels[labelVersion] = version.Current().Version
	return spec
}

// tmpfsVolumes mounts a folder in memory over each volume that the image declares. An engine would
// otherwise store the volume on disk, where nothing limits its size.
func tmpfsVolumes(spec engine.Spec, s *Settings, volumes []string) engine.Spec {
	uid, gid := agentUser()
	for _, v := range volumes {
		v = path.Clean("/" + v)
		taken := slices.ContainsFunc(spec.Mounts, func(m engine.Mount) bool { return m.Target == v }) ||
			slices.ContainsFunc(spec.Tmpfs, func(t engine.Tmpfs) bool { return t.Target == v })
		if !taken && v != "/" {
			spec.Tmpfs = append(spec.Tmpfs, tmpfsMounts(uid, gid, int64(s.Limits.Memory)/2, v)...)
		}
	}
	return spec
}

func tmpfsMounts(uid, gid int, size int64, folders ...string) []engine.Tmpfs {
	var list []engine.Tmpfs
	for _, f := range folders {
		list = append(list, engine.Tmpfs{Target: f, Size: size, Mode: fs.ModeSticky | os.ModePerm, UID: uid, GID: gid})
	}
	return list
}

// configHash is the hash of everything that determines a container: containers with equal hashes
// are interchangeable. It includes the network settings, because the proxy of a container keeps the
// settings with which it was started.
func configHash(s engine.Spec, n Network) string {
	b, err := json.Marshal(struct {
		Layout   int
		Protocol int
		Spec     engine.Spec
		Network  Network
	}{layoutVersion, supervisor.Protocol, s, n})
	if err != nil {
		panic(err) // the value has only strings and numbers, so encoding cannot fail
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
