package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// checkPaths checks the host folders that a container would get. It must be called immediately
// before a container is created, because an engine follows links and mounts whatever a path leads
// to at that time. others are the other workspaces.
func (w *Workspaces) checkPaths(s *Settings, others []Settings) *problem {
	hosts := s.hostPaths()
	for _, h := range hosts {
		if p := w.checkHostPath(h); p != nil {
			return p
		}
	}
	for i, a := range hosts {
		for _, b := range hosts[:i] {
			if p := checkSwappable(a, b, ""); p != nil {
				return p
			}
		}
		for j := range others {
			for _, b := range others[j].hostPaths() {
				if p := checkSwappable(a, b, " of workspace "+others[j].Slug); p != nil {
					return p
				}
			}
		}
	}
	return nil
}

// hostPath is a host path that is mounted.
type hostPath struct {
	field, path string
	writable    bool
	folder      bool // it must be a folder
}

func (s *Settings) hostPaths() []hostPath {
	var list []hostPath
	if s.Project != "" {
		list = append(list, hostPath{"project", s.Project, true, true})
	}
	for i, m := range s.Mounts {
		list = append(list, hostPath{fmt.Sprintf("mounts[%d].host", i), m.Host, !m.ReadOnly, false})
	}
	return list
}

// checkSwappable rejects two paths if one is inside the other and an agent can write to the outer one.
// The agent could replace the inner path with a link, and the next container would get the target
// of that link.
func checkSwappable(a, b hostPath, of string) *problem {
	const hint = "mount folders side by side, or the outer one read-only"
	switch {
	case a.path == b.path:
		return nil
	case b.writable && below(a.path, b.path, filepath.Separator):
		return &problem{a.field, fmt.Sprintf("%s is inside %s (%s%s), which an agent can write", a.path, b.path, b.field, of), hint}
	case a.writable && below(b.path, a.path, filepath.Separator):
		return &problem{a.field, fmt.Sprintf("an agent can write %s, which contains %s (%s%s)", a.path, b.path, b.field, of), hint}
	}
	return nil
}

// The paths that are rejected. For systemTrees this includes everything below and above them. Of
// wholeTrees only the paths themselves are rejected. For readTrees it includes everything below
// them, but only if they are mounted writable.
var (
	systemTrees = []string{"/proc", "/sys", "/dev", "/run", "/boot", "/var/run", "/var/lib/docker", "/var/lib/containerd", "/var/lib/containers"}
	wholeTrees  = []string{"/home", "/Users", "/private", "/System", "/Library"}
	readTrees   = []string{"/etc", "/private/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"}
)

func (w *Workspaces) checkHostPath(h hostPath) *problem {
	refuse := func(hint, format string, args ...any) *problem {
		return &problem{h.field, fmt.Sprintf(format, args...), hint}
	}
	plain, err := filepath.EvalSymlinks(h.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return refuse("create it: mkdir "+h.path, "%s does not exist", h.path)
	case err != nil:
		return refuse("", "%v", err)
	case plain != h.path:
		return refuse("use the path it leads to", "%s is or contains a link and leads to %s", h.path, plain)
	}
	info, err := os.Stat(plain)
	if err != nil {
		return refuse("", "%v", err)
	}
	if !info.IsDir() && (h.folder || !info.Mode().IsRegular()) {
		return refuse("name a folder", "%s is %s", h.path, fileTypeText(info.Mode()))
	}
	for _, tree := range systemTrees {
		if below(plain, tree, '/') || below(tree, plain, '/') {
			return refuse("choose a folder that belongs to you", "%s belongs to the system", h.path)
		}
	}
	if slices.Contains(wholeTrees, plain) {
		return refuse("choose a folder inside it", "%s is too large to share: it contains all files of a user or of the system", h.path)
	}
	for _, tree := range readTrees {
		if h.writable && below(plain, tree, '/') {
			return refuse(`mount it with "readonly": true`, "%s belongs to the system", h.path)
		}
	}
	return w.checkProtected(h.path, refuse)
}

// checkProtected rejects a path that contains something which agents must not reach, such as
// Holdfast's home folder or the socket of a container engine. It also rejects a path inside
// Holdfast's home folder.
func (w *Workspaces) checkProtected(p string, refuse func(string, string, ...any) *problem) *problem {
	type place struct{ path, name string }
	places := []place{
		{w.home, "HOLDFAST_HOME"},
		{strings.TrimPrefix(os.Getenv("DOCKER_HOST"), "unix://"), "the engine's socket"},
		{os.Getenv("XDG_RUNTIME_DIR"), "your runtime folder"},
		{os.Getenv("SSH_AUTH_SOCK"), "the socket of your SSH agent"},
	}
	for _, socket := range engine.Sockets() {
		if _, err := os.Lstat(socket); err == nil {
			places = append(places, place{socket, "the engine's socket"})
		}
	}
	for _, protected := range places {
		if !filepath.IsAbs(protected.path) {
			continue
		}
		for _, at := range []string{filepath.Clean(protected.path), resolveLinks(protected.path)} {
			if below(at, p, filepath.Separator) || below(p, at, filepath.Separator) && protected.name == "HOLDFAST_HOME" {
				return refuse("choose a folder outside it", "%s overlaps %s (%s)", p, at, protected.name)
			}
		}
	}
	return nil
}

// resolveLinks returns the path that p leads to after all links are followed, as far as p exists.
func resolveLinks(p string) string {
	if plain, err := filepath.EvalSymlinks(p); err == nil {
		return plain
	}
	return filepath.Clean(p)
}
