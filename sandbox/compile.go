package sandbox

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/sandbox/cgroup"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/sandbox/quarantine"
	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
	"github.com/holdfast-dev/holdfast/policy"
)

// plan is a kernel policy together with the reason for each of its entries.
type plan struct {
	policy  kernel.Policy
	layers  []layer
	write   []pathTree
	read    []pathTree
	reasons map[string]planReason // the reason why each path is hidden, read-only, pinned or forbidden
	notices []string
	watched []watchedPath
}

// planReason is the reason for an entry of a plan.
type planReason struct {
	setting string        // name of the setting, such as "deniedPaths"; "" for a built-in rule
	origin  policy.Origin // the position of the entry; its field Rule contains the entry
	text    string        // text of a built-in rule, such as "secrets are not readable"
}

// pathTree is a tree that a setting or the workspace names.
type pathTree struct {
	path    string // canonical
	literal string // as written, absolute
	field   string // "allowedWritePaths[1]"; "" is the workspace
	folder  bool   // the name ended in "/"
	git     bool   // true if the tree is part of the repository of a linked worktree, see [compiler.gitFolders]
	planReason
}

// layer holds the path lists of one checker's settings.
type layer struct {
	read, write, denied, protected []pathTree // if read is nil, reading is not restricted; if write is nil, writing is not restricted
	more                           []pathTree // readable secrets
	origin                         policy.Origin
	untrusted                      bool
}

// compiler builds plans from the settings of all layers.
type compiler struct {
	home       string
	folders    []pathTree // the workspace
	state      []pathTree
	temp       string
	caches     string
	quarantine quarantine.Folder // if it is "", placeholders block names
	single     bool              // only one command will run
	searchPath string            // PATH for program lookups
	checkers   []*Checker
	merged     *merged
	scanner    scanner
	unconfined bool // refuse nothing, see [OpenOptions]

	hide, readOnly, pin []string
	forbid              []kernel.Name
	*plan
}

// compile builds a plan for the current state of the file system.
func (c *compiler) compile() (*plan, error) {
	if c.unconfined {
		return &plan{policy: kernel.Policy{Open: true}, reasons: map[string]planReason{}}, nil
	}
	c.plan = &plan{reasons: map[string]planReason{}}
	c.hide, c.readOnly, c.pin, c.forbid = nil, nil, nil, nil
	c.layers = c.newLayers()
	for _, step := range []func() error{c.computeWritable, c.computeReadable, c.computeHidden, c.protect} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c.finish()
	c.copyOtherSettings()
	return c.plan, nil
}

func (c *compiler) newLayers() []layer {
	out := make([]layer, len(c.checkers))
	for i, k := range c.checkers {
		out[i] = layer{
			read:  pathTrees(k, fieldReadPaths, k.read),
			more:  pathTrees(k, fieldReadMore, k.readMore),
			write: pathTrees(k, fieldWritePaths, k.write),

			denied:    pathTrees(k, fieldDeniedPaths, k.denied),
			protected: pathTrees(k, fieldProtectedPaths, k.protected),
			origin:    k.origin,
			untrusted: k.untrusted,
		}
	}
	return out
}

func pathTrees(c *Checker, setting string, list []tree) []pathTree {
	if len(list) == 0 {
		return nil
	}
	out := make([]pathTree, len(list))
	for i, t := range list {
		out[i] = pathTree{
			path: t.resolved, literal: t.literal, field: fmt.Sprintf("%s[%d]", setting, i), folder: strings.HasSuffix(t.entry, "/"),
			planReason: settingReason(setting, c.origin, t.entry),
		}
	}
	return out
}

func settingReason(setting string, o policy.Origin, entry string) planReason {
	o.Rule = entry
	return planReason{setting: setting, origin: o}
}

// computeWritable computes the writable trees: those that every layer allows in allowedWritePaths, and
// those that additionalWritePaths adds. A layer without allowedWritePaths allows the workspace.
// Repositories of linked worktrees belong to the workspace. If only untrusted layers name a tree,
// it must be inside the workspace.
func (c *compiler) computeWritable() error {
	lists, trusted := [][]pathTree{}, false
	folders := slices.Concat(c.folders, c.gitFolders())
	for _, l := range c.layers {
		if l.write == nil {
			l.write = folders
		} else if !l.untrusted {
			trusted = true
		}
		lists = append(lists, l.write)
	}
	if !trusted {
		lists = append(lists, folders)
	}
	list := lists[0]
	for _, other := range lists[1:] {
		list = commonTrees(list, other)
	}
	for _, w := range c.merged.AdditionalWritePaths {
		if _, err := os.Lstat(w.Path); err != nil {
			c.watched = append(c.watched, watchedPath{path: w.Path, none: true})
			c.addNotice("%s: %s does not exist, so commands cannot write to it: mkdir -p %s", fieldAdditional, w.Entry, shellparse.Canonical(w.Path))
			continue
		}
		list = append(list, pathTree{path: w.Path, literal: w.Path, field: fieldAdditional, planReason: settingReason(fieldAdditional, w.Origin, w.Entry)})
	}
	c.write = c.withoutDenied(outermost(list))
	for i := range c.write {
		if err := c.mayWrite(&c.write[i]); err != nil {
			return err
		}
	}
	if f := &c.folders[0]; len(c.withoutDenied(c.folders[:1])) == 0 {
		return &Error{Detail: "the workspace " + f.path + " is in deniedPaths", hint: "remove it from deniedPaths, or work in another folder"}
	}
	return nil
}

func (c *compiler) withoutDenied(list []pathTree) []pathTree {
	return slices.DeleteFunc(slices.Clone(list), func(a pathTree) bool {
		return slices.ContainsFunc(c.layers, func(l layer) bool {
			return slices.ContainsFunc(l.denied, func(d pathTree) bool { return within(a.path, d.path) || within(a.path, d.literal) })
		})
	})
}

// mayWrite rejects a tree that must not be writable, or whose name no longer resolves to the same path
// as when the settings were read.
func (c *compiler) mayWrite(a *pathTree) error {
	if err := a.checkTarget(); err != nil {
		return err
	}
	if _, err := os.Lstat(a.path); err != nil {
		return a.invalid(a.path+" does not exist", "create it, or remove it from the settings")
	}
	if a.field == "" {
		if why := whyNotWorkspace(a.path, c.home); why != "" {
			return a.invalid(a.path+" cannot be a writable workspace: "+why, "work in a subfolder, or add it to allowedWritePaths")
		}
	}
	for _, s := range c.state {
		if within(a.path, s.path) {
			return a.invalid(a.path+" is inside "+s.path+", which contains Holdfast's own state", "work in another folder")
		}
	}
	for _, link := range symlinksOn(a.literal) {
		for _, w := range c.write {
			if within(link, w.path) {
				return a.invalid(link+" is a symbolic link that commands could change, because "+w.path+" is writable", "use the link's target: "+a.path)
			}
		}
	}
	return nil
}

// checkTarget rejects a tree whose name now resolves to another path, because a command may have
// created a symbolic link there.
func (a *pathTree) checkTarget() error {
	now, err := realpath.Resolve(a.path)
	if err == nil && now == a.path {
		return nil
	}
	return a.invalid(a.path+" became a symbolic link after the settings were read", "check the link's target, then run again")
}

func (a *pathTree) invalid(what, hint string) error {
	return &Error{Field: a.field, Origin: a.origin, Detail: what, hint: hint}
}

// computeReadable computes the readable trees: everything, or, if layers restrict reading, the trees that all
// of them allow plus those that programs need to start.
func (c *compiler) computeReadable() error {
	c.read = []pathTree{{path: "/", literal: "/"}}
	restricted := false
	for _, l := range c.layers {
		if l.read != nil {
			c.read = commonTrees(c.read, l.read)
			restricted = true
		}
	}
	lists := systemLists()
	added := lists["view"]
	if restricted {
		added = append(slices.Clone(lists["start"]), added...)
	}
	c.read = slices.DeleteFunc(outermost(c.read), func(a pathTree) bool {
		if _, err := os.Lstat(a.path); err != nil {
			c.addNotice("%s: %s does not exist", a.field, a.path)
			return true
		}
		return false
	})
	for i := range c.read {
		if err := c.read[i].checkTarget(); err != nil {
			return err
		}
	}
	for _, p := range existing(added) {
		if c.isVisible(p, c.read) {
			continue
		}
		c.read = append(c.read, pathTree{path: p, literal: p, planReason: planReason{text: "programs need it to start"}})
	}
	if !restricted {
		c.showWorkspace()
	}
	return nil
}

// showWorkspace makes read-only folders of the workspace below /tmp and /var/tmp visible. Otherwise the
// private /tmp and /var/tmp of commands would cover them.
func (c *compiler) showWorkspace() {
	for _, f := range c.folders {
		if !c.isWritable(f.path) && (within(f.path, "/tmp") || within(f.path, "/var/tmp")) {
			c.read = append(c.read, f)
		}
	}
}

// isVisible reports whether trees make a path visible.
func (c *compiler) isVisible(p string, list []pathTree) bool {
	return slices.ContainsFunc(list, func(a pathTree) bool {
		return within(p, a.path) && (a.path != "/" || !slices.ContainsFunc(specialFolders, func(dir string) bool { return within(p, dir) }))
	})
}

// isWritable reports whether a path is in a writable tree.
func (c *compiler) isWritable(p string) bool { return treeOf(c.write, p) != nil }

// treeOf returns the tree that contains a path, or nil.
func treeOf(list []pathTree, p string) *pathTree {
	for i := range list {
		if within(p, list[i].path) {
			return &list[i]
		}
	}
	return nil
}

func (c *compiler) addNotice(format string, args ...any) {
	c.notices = append(c.notices, fmt.Sprintf(format, args...))
}

// copyOtherSettings copies the settings that are not about paths.
func (c *compiler) copyOtherSettings() {
	m, p := c.merged, &c.policy
	p.Temp, p.Caches, p.Single = c.temp, c.caches, c.single
	p.Quarantine, p.CacheMounts = c.quarantine, c.cacheMounts()
	p.Nested, p.Weaker, p.LocalBind = m.Nested.Set, m.Weaker.Set, m.LocalBinding.Set
	p.Limits = cgroup.Limits{CPUs: m.Limits.CPU, Memory: m.Limits.Memory, Processes: m.Limits.Pids}
	p.FileSize = m.Limits.FileSize
	p.Notify = true
	switch {
	case m.AllUnixSockets.Set:
		p.Unix = kernel.UnixAll
	case m.UnixSockets.Set:
		p.Unix = kernel.UnixOwnOnly
	}
	p.Network = kernel.NoNetwork
	if c.merged.hasNetwork(m.Weaker.Set && kernel.Namespaces() != nil) {
		p.Network = kernel.ProxyNetwork
	}
}

// finish sorts the entries, removes redundant ones, and pins the folders above them. Without the
// pins, a command could move such a folder, and its content would no longer be protected.
func (c *compiler) finish() {
	p := &c.policy
	p.Hide = outermostPaths(c.hide)
	open := func(a pathTree) bool { return !inAny(p.Hide, a.path) }
	c.write = filter(c.write, func(a pathTree) bool { return open(a) && !inAny(c.readOnly, a.path) })
	p.ReadOnly = outermostPaths(filter(c.readOnly, func(f string) bool { return !inAny(p.Hide, f) && c.isWritable(f) }))
	slices.Sort(p.ReadOnly)
	c.read = filter(c.read, open)
	closed := slices.Concat(p.Hide, p.ReadOnly)
	for _, n := range c.forbid {
		if !inAny(closed, n.Path) && !slices.ContainsFunc(p.Forbid, func(o kernel.Name) bool { return o.Path == n.Path }) {
			p.Forbid = append(p.Forbid, n)
		}
	}
	slices.SortFunc(p.Forbid, func(a, b kernel.Name) int { return strings.Compare(a.Path, b.Path) })
	pins := slices.Clone(c.pin)
	for _, at := range slices.Concat(closed, c.pin, namesOf(p.Forbid)) {
		if w := treeOf(c.write, at); w != nil {
			for dir := path.Dir(at); dir != w.path && within(dir, w.path); dir = path.Dir(dir) {
				pins = append(pins, dir)
			}
		}
	}
	slices.Sort(pins)
	p.Pin = filter(slices.Compact(pins), func(dir string) bool {
		return !inAny(closed, dir) && !slices.ContainsFunc(c.write, func(a pathTree) bool { return a.path == dir })
	})
	for _, a := range c.write {
		p.Write = append(p.Write, a.path)
	}
	for _, a := range c.read {
		p.Read = append(p.Read, a.path)
	}
	slices.Sort(p.Write)
	slices.Sort(p.Read)
	if !slices.Contains(p.Read, "/") {
		p.List = []string{"/"}
	}
	c.watchAll()
}

func namesOf(list []kernel.Name) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = n.Path
	}
	return out
}
