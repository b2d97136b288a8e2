package sandbox

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/registries"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
)

// computeHidden computes what commands cannot see: deniedPaths, Holdfast's own state, secrets, and programs
// of deniedCommands.
func (c *compiler) computeHidden() error {
	for _, l := range c.layers {
		for _, d := range l.denied {
			if err := c.hideOrForbid(d); err != nil {
				return err
			}
		}
	}
	for _, s := range c.state {
		if err := c.hideOrForbid(s); err != nil {
			return err
		}
	}
	if err := c.hideSecrets(); err != nil {
		return err
	}
	c.hidePrograms()
	if c.merged.UnixSockets.Set && !c.merged.AllUnixSockets.Set {
		c.hideSockets()
	}
	return nil
}

// hideSockets hides the named unix sockets of other programs: neither a read-only mount nor this version
// of Landlock prevents a connection to one.
func (c *compiler) hideSockets() {
	list, err := os.ReadFile("/proc/net/unix")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(list)) {
		fields := strings.Fields(line)
		if len(fields) != 8 || fields[7][0] != '/' {
			continue
		}
		full, err := realpath.Resolve(fields[7])
		if err != nil || c.isWritable(full) {
			continue
		}
		if info, exists := lstat(full); exists && info.Mode().Type() == os.ModeSocket && searchable(path.Dir(full)) {
			// It also hides sockets in folders that Landlock does not make readable, such as /run,
			// because a connection to them would still be possible.
			c.hideTree(full, info, planReason{text: "sockets of other programs are not reachable"})
		}
	}
}

// hideOrForbid hides a tree and the target of its name, or forbids its creation if it does not exist.
func (c *compiler) hideOrForbid(a pathTree) error {
	for _, at := range []string{a.path, a.literal} {
		full, err := realpath.Resolve(at)
		if err != nil {
			return a.invalid(fmt.Sprintf("%s: %v", at, err), "write the path without symbolic links")
		}
		if full == "/" {
			return a.invalid("it denies reading everything", "list the folders to deny")
		}
		info, exists := lstat(full)
		switch {
		case exists && !slices.Contains(needed, full):
			c.hideTree(full, info, a.planReason)
		case c.isWritable(full):
			c.forbidFirstComponent(full, a.planReason)
		}
	}
	return nil
}

// forbidFirstComponent forbids the first component of a path that does not exist. If a file is in the place of
// a folder, the file is pinned.
func (c *compiler) forbidFirstComponent(full string, g planReason) {
	at := full
	for parent := path.Dir(at); parent != "/"; parent = path.Dir(parent) {
		if info, exists := lstat(parent); exists {
			if !info.IsDir() {
				c.pinFolder(parent)
				return
			}
			break
		}
		at = parent
	}
	if at != full {
		c.addNotice("%s does not exist, so commands cannot create %s", full, at)
	}
	c.forbidName(at, g)
}

// needed lists folders that every program needs to start. What they contain is private to the
// command, or is a device that reveals nothing.
var needed = []string{"/dev", "/dev/pts", "/dev/shm", "/proc"}

// hidePath hides an existing path if something makes it visible.
func (c *compiler) hidePath(full string, info os.FileInfo, g planReason) {
	if c.isPartlyVisible(full) {
		c.hideTree(full, info, g)
	}
}

// isPartlyVisible reports whether something makes a path, or a part of it, visible.
func (c *compiler) isPartlyVisible(full string) bool {
	holds := func(a pathTree) bool { return within(a.path, full) }
	return c.isVisible(full, c.write) || c.isVisible(full, c.read) || slices.ContainsFunc(c.write, holds) || slices.ContainsFunc(c.read, holds)
}

// hideTree hides an existing path. It also hides paths that nothing makes readable, because
// otherwise a command could read their names and sizes. Paths that the command's private folders
// cover are left out.
func (c *compiler) hideTree(full string, info os.FileInfo, g planReason) {
	covered := inAny(privateFolders, full) && !slices.Contains(privateFolders, full) && !c.isPartlyVisible(full)
	if covered || slices.Contains(c.hide, full) {
		return
	}
	c.hide = append(c.hide, full)
	c.reasons[full] = g
	c.noticeHardLinks(full, info)
}

// noticeHardLinks adds a notice for hard links to hidden files: such a file is still readable through
// another name.
func (c *compiler) noticeHardLinks(full string, info os.FileInfo) {
	note := func(name string, info os.FileInfo) {
		if n := linkCount(info); info.Mode().IsRegular() && n > 1 {
			c.addNotice("%s has %d hard links: its content can still be read through another name", name, n)
		}
	}
	note(full, info)
	if !info.IsDir() {
		return
	}
	f, err := os.Open(full)
	if err != nil {
		return
	}
	defer f.Close()
	const maxEntries = 1000
	entries, _ := f.Readdir(maxEntries) // commands cannot list this folder either
	for _, e := range entries {
		note(path.Join(full, e.Name()), e)
	}
}

// hideSecrets hides the built-in secrets that no setting allows by name.
func (c *compiler) hideSecrets() error {
	opened := c.allowedByName()
	for _, p := range append(secretPaths(c.home), registries.PipSecrets(c.home)...) {
		if _, err := os.Lstat(p); err != nil {
			continue // most of these paths do not exist
		}
		full, err := realpath.Resolve(p)
		if err != nil {
			continue // it cannot be resolved
		}
		info, err := os.Lstat(full)
		if err != nil || !readable(full, info) || slices.ContainsFunc(opened, func(o pathTree) bool { return o.path == full }) {
			continue
		}
		for _, f := range c.folders {
			if within(f.path, full) && !slices.ContainsFunc(opened, func(o pathTree) bool { return within(o.path, full) }) {
				return &Error{Detail: "the workspace " + f.path + " is inside " + full + ", which contains secrets", hint: "work in another folder, or add it to allowedWritePaths"}
			}
		}
		c.hideExcept(full, info, opened, secretReason)
	}
	return nil
}

// allowedByName returns the trees that a trusted setting allows by name.
func (c *compiler) allowedByName() []pathTree {
	var out []pathTree
	for _, l := range c.layers {
		if !l.untrusted {
			out = append(out, l.read...)
			out = append(out, l.write...)
			out = append(out, l.more...)
		}
	}
	return append(out, filter(slices.Clone(c.write), func(a pathTree) bool { return a.setting == fieldAdditional })...)
}

// hideExcept hides a tree except the parts that settings allow by name.
func (c *compiler) hideExcept(full string, info os.FileInfo, opened []pathTree, g planReason) {
	inside := func(o pathTree) bool { return within(o.path, full) }
	if !slices.ContainsFunc(opened, inside) {
		c.hideTree(full, info, g)
		return
	}
	if slices.ContainsFunc(opened, func(o pathTree) bool { return o.path == full }) {
		return
	}
	entries, err := os.ReadDir(full)
	if err != nil {
		return
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode()&os.ModeSymlink == 0 {
			c.hideExcept(path.Join(full, e.Name()), info, opened, g)
		}
	}
}

// hidePrograms hides the programs of deniedCommands, so that scripts cannot run them either.
func (c *compiler) hidePrograms() {
	for _, k := range c.checkers {
		if k.deniedPrograms == nil {
			continue
		}
		var names []string
		for _, entry := range k.deniedPrograms.folded {
			names = append(names, path.Base(entry))
		}
		slices.Sort(names)
		found, shared := findPrograms(names, c.searchPath)
		for named := range k.deniedPrograms.paths {
			full, err := realpath.Resolve(named)
			switch {
			case err != nil:
			case path.Base(full) != path.Base(named):
				shared = append(shared, named+" is "+full+", which also has other names")
			default:
				found = append(found, hiddenProgram{path.Base(full), full})
			}
		}
		for _, p := range found {
			if info, err := os.Lstat(p.path); err == nil && info.Mode().IsRegular() {
				c.hidePath(p.path, info, settingReason(fieldDeniedCommands, k.origin, k.deniedPrograms.folded[strings.ToLower(p.name)]))
			}
		}
		for _, program := range shared {
			c.addNotice("deniedCommands: a script can still run %s", program)
		}
	}
}

// forbidName prevents the creation of a name.
func (c *compiler) forbidName(full string, g planReason) {
	if _, ok := c.reasons[full]; ok {
		return
	}
	c.forbid = append(c.forbid, kernel.Name{Path: full, Dot: path.Base(full) == commonDirFile})
	c.reasons[full] = g
}
