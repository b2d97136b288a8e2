package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
	"github.com/holdfast-dev/holdfast/policy"
)

// SettingFor returns the settings that the user could add so that the sandbox no longer refuses v; nil
// if there are none. Only the sandbox's own limits can be extended: denials by a settings layer,
// protected files and secrets stay in force.
func (s *Sandbox) SettingFor(v *Violation) *Settings {
	m := s.merged()
	switch {
	case s.compiler.unconfined:
	case v.Kind == kindPath && v.Op == verb(policy.OpWrite) && v.Setting == fieldWritePaths && v.Origin == (policy.Origin{}):
		if tree := s.compiler.treeToAllow(v.Subject); tree != "" && len(m.permittedParts(tree)) > 0 {
			return &Settings{AdditionalWritePaths: []string{tree}}
		}
	case v.Kind == kindSyscall && v.Setting == fieldUnixSockets && v.reported && !s.weaker():
		if !slices.ContainsFunc(m.layers, func(c *Checker) bool { return c.managed() && c.settings.Network != nil }) {
			return &Settings{Network: &Network{AllowUnixSockets: true}}
		}
	}
	return nil
}

// Widen returns a sandbox like s that also allows what open contains: AdditionalWritePaths, which
// must be absolute, and Network.AllowUnixSockets. Other fields of open are ignored. The new sandbox
// shares the localhost of s if the settings let commands share one. Closing s also closes it. If a
// path does not exist, Widen creates it as a folder.
func (s *Sandbox) Widen(open *Settings) (*Sandbox, error) {
	trees, sockets := slices.Sorted(slices.Values(open.AdditionalWritePaths)), open.Network != nil && open.Network.AllowUnixSockets
	if len(trees) == 0 && !sockets {
		return s, nil
	}
	key := fmt.Sprintf("%q %v", trees, sockets)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if err := createTrees(trees); err != nil {
		return nil, err
	}
	if wide := s.widened[key]; wide != nil {
		return wide, nil
	}
	wide, err := s.widen(trees, sockets)
	if err != nil {
		return nil, err
	}
	if s.widened == nil {
		s.widened = map[string]*Sandbox{}
	}
	s.widened[key] = wide
	return wide, nil
}

func (s *Sandbox) widen(trees []string, sockets bool) (*Sandbox, error) {
	c := new(*s.compiler)
	c.scanner, c.plan, c.merged = scanner{}, nil, new(*s.compiler.merged)
	c.merged.AdditionalWritePaths = slices.Clone(c.merged.AdditionalWritePaths)
	for _, tree := range trees {
		full, err := realpath.Resolve(tree)
		if err != nil {
			return nil, cannotOpen(tree, err)
		}
		c.merged.allowWrite(full, tree)
	}
	if sockets {
		c.merged.UnixSockets = loosened{Set: true}
	}
	wide := &Sandbox{compiler: c, ask: s.ask, log: s.log, running: map[*kernel.Process]*kernel.Jail{}, uses: map[*kernel.Jail]int{}}
	if err := wide.renew(); err != nil {
		return nil, err
	}
	wide.jail.TakeNamespacesFrom(s.jail)
	return wide, nil
}

// createTrees creates the trees that do not exist.
func createTrees(trees []string) error {
	for _, tree := range trees {
		_, err := os.Stat(tree)
		if errors.Is(err, fs.ErrNotExist) {
			err = os.MkdirAll(tree, 0o755)
		}
		if err != nil {
			return cannotOpen(tree, err)
		}
	}
	return nil
}

func cannotOpen(tree string, err error) error {
	return &Error{Detail: tree + " cannot be made writable for commands", Err: err}
}

// allowWrite adds a tree that the user allows.
func (m *merged) allowWrite(tree, entry string) {
	for _, p := range m.permittedParts(tree) {
		m.AdditionalWritePaths = append(m.AdditionalWritePaths, writeTree{Path: p, Entry: entry})
	}
}

// sharedFolders are folders in which many programs have a folder.
var sharedFolders = []string{".cache", ".config", ".local", ".local/share", ".local/state", ".local/lib", ".local/bin"}

// treeToAllow returns the narrowest useful tree to open for a refused write. For a folder, that is the
// folder that was to be written or created. For a file, it is the file's folder, or only the file
// if its folder is not for the files of one program. "": no tree can be opened.
func (c *compiler) treeToAllow(full string) string {
	top, missing := full, false
	for {
		if _, err := os.Lstat(top); err == nil {
			break
		}
		up := path.Dir(top)
		if up == top {
			return ""
		}
		if _, err := os.Lstat(up); err == nil {
			missing = true
			break
		}
		top = up
	}
	if missing { // top is the first path that does not exist
		for rel, ok := strings.CutPrefix(full, top+"/"); ok && c.isSharedFolder(top); rel, ok = strings.CutPrefix(full, top+"/") {
			first, _, _ := strings.Cut(rel, "/")
			top += "/" + first
		}
	} else if info, err := os.Stat(top); err == nil && !info.IsDir() && !c.isWideFolder(path.Dir(top)) {
		top = path.Dir(top)
	}
	if c.isWideFolder(top) || c.decides(top) {
		return ""
	}
	return top
}

func (c *compiler) isSharedFolder(full string) bool {
	rel, ok := strings.CutPrefix(full, c.home+"/")
	return ok && c.home != "" && slices.Contains(sharedFolders, rel)
}

// isWideFolder reports whether a folder contains more than the files of one program.
func (c *compiler) isWideFolder(full string) bool {
	holds := func(a pathTree) bool { return within(a.path, full) || within(full, a.path) }
	return full == "/" || full == c.home || c.isSharedFolder(full) || whyNotWorkspace(full, c.home) != "" ||
		slices.ContainsFunc(c.folders, func(a pathTree) bool { return within(a.path, full) }) || slices.ContainsFunc(c.state, holds)
}

// decides reports whether a path decides what other programs do, or is inside such a path.
func (c *compiler) decides(full string) bool {
	names := protectedNames()
	for at := full; at != "/" && at != c.home; at = path.Dir(at) {
		parent := path.Base(path.Dir(at))
		if names.has(parent, path.Base(at)) {
			return true
		}
	}
	return false
}

// closeWidened closes the sandboxes that [Sandbox.Widen] has created.
func (s *Sandbox) closeWidened() error {
	var errs []error
	for _, wide := range s.widened {
		errs = append(errs, wide.Close())
	}
	s.widened = nil
	return errors.Join(errs...)
}
