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

// plan is a kernel policy, with the reason for what is in it.
type plan struct {
	policy  kernel.Policy
	layers  []layer
	write   []pathTree
	read    []pathTree
	grounds map[string]planReason // of what is hidden, fixed, pinned and barred, by path
	notices []string
	watched []watchedPath
}

// planReason is why something is as it is.
type planReason struct {
	setting string        // "deniedPaths"; "" is built in
	origin  policy.Origin // where it was written; its Rule is the entry
	text    string        // of what is built in: "secrets are not readable"
}

// pathTree is a tree that a setting or the workspace names.
type pathTree struct {
	path    string // canonical
	literal string // as it was named, absolute
	field   string // "allowedWritePaths[1]"; "" is the workspace
	folder  bool   // the name ended in "/"
	git     bool   // it is of the repository of a linked worktree, see [compiler.gitFolders]
	planReason
}

// layer is what the settings of one checker say about paths.
type layer struct {
	read, write, denied, protected []pathTree // read, write: nil says nothing
	more                           []pathTree // secrets that may be read
	origin                         policy.Origin
	untrusted                      bool
}

// compiler makes plans from the settings of all layers.
type compiler struct {
	home       string
	folders    []pathTree // the workspace
	state      []pathTree
	temp       string
	caches     string
	quarantine quarantine.Folder // "": placeholders
	single     bool              // one command will run
	searchPath string            // where programs are looked for
	checkers   []*Checker
	merged     *merged
	scanner    scanner
	unconfined bool // nothing is refused, see [OpenOptions]

	hide, fixed, pin []string
	forbid           []kernel.Name
	*plan
}

// compile makes a plan for how things are now.
func (c *compiler) compile() (*plan, error) {
	if c.unconfined {
		return &plan{policy: kernel.Policy{Open: true}, grounds: map[string]planReason{}}, nil
	}
	c.plan = &plan{grounds: map[string]planReason{}}
	c.hide, c.fixed, c.pin, c.forbid = nil, nil, nil, nil
	c.layers = c.layersOf()
	for _, step := range []func() error{c.writable, c.readable, c.hidden, c.protect} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	c.finish()
	c.bounds()
	return c.plan, nil
}

func (c *compiler) layersOf() []layer {
	out := make([]layer, len(c.checkers))
	for i, k := range c.checkers {
		out[i] = layer{
			read:  areas(k, fieldReadPaths, k.read),
			more:  areas(k, fieldReadMore, k.readMore),
			write: areas(k, fieldWritePaths, k.write),

			denied:    areas(k, fieldDeniedPaths, k.denied),
			protected: areas(k, fieldProtectedPaths, k.protected),
			origin:    k.origin,
			untrusted: k.untrusted,
		}
	}
	return out
}

func areas(c *Checker, setting string, list []tree) []pathTree {
	if len(list) == 0 {
		return nil
	}
	out := make([]pathTree, len(list))
	for i, t := range list {
		out[i] = pathTree{
			path: t.resolved, literal: t.literal, field: fmt.Sprintf("%s[%d]", setting, i), folder: strings.HasSuffix(t.entry, "/"),
			planReason: settingGround(setting, c.origin, t.entry),
		}
	}
	return out
}

func settingGround(setting string, o policy.Origin, entry string) planReason {
	o.Rule = entry
	return planReason{setting: setting, origin: o}
}

// writable finds what may be written: what every layer names in allowedWritePaths,
// where one that names nothing stands for the workspace, and besides that what
// additionalWritePaths add. To the workspace belong the repositories of linked worktrees. What untrusted layers alone name lies in the workspace.
func (c *compiler) writable() error {
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
		list = common(list, other)
	}
	for _, w := range c.merged.AdditionalWritePaths {
		if _, err := os.Lstat(w.Path); err != nil {
			c.watched = append(c.watched, watchedPath{path: w.Path, none: true})
			c.notice("%s: %s does not exist, so that commands cannot write it: mkdir -p %s", fieldAdditional, w.Entry, shellparse.Canonical(w.Path))
			continue
		}
		list = append(list, pathTree{path: w.Path, literal: w.Path, field: fieldAdditional, planReason: settingGround(fieldAdditional, w.Origin, w.Entry)})
	}
	c.write = c.withoutDenied(outermost(list))
	for i := range c.write {
		if err := c.mayWrite(&c.write[i]); err != nil {
			return err
		}
	}
	if f := &c.folders[0]; len(c.withoutDenied(c.folders[:1])) == 0 {
		return &Error{Detail: "the workspace " + f.path + " lies in deniedPaths", hint: "take it out of deniedPaths, or work elsewhere"}
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

// mayWrite refuses a tree that must not be written, or that is no longer what was
// meant when the settings were read.
func (c *compiler) mayWrite(a *pathTree) error {
	if err := a.steady(); err != nil {
		return err
	}
	if _, err := os.Lstat(a.path); err != nil {
		return a.wrong(a.path+" does not exist", "make it, or take it out of the settings")
	}
	if a.field == "" {
		if why := notWorkspace(a.path, c.home); why != "" {
			return a.wrong(a.path+" cannot be written as a workspace: "+why, "work in a folder below, or name it in allowedWritePaths")
		}
	}
	for _, s := range c.state {
		if within(a.path, s.path) {
			return a.wrong(a.path+" lies in "+s.path+", which holds this program's own state", "work elsewhere")
		}
	}
	for _, link := range linksOn(a.literal) {
		for _, w := range c.write {
			if within(link, w.path) {
				return a.wrong(link+" is a link that commands could change, since "+w.path+" may be written", "name what it leads to: "+a.path)
			}
		}
	}
	return nil
}

// steady refuses a tree whose name leads elsewhere by now: a command may have put
// a link there.
func (a *pathTree) steady() error {
	now, err := realpath.Resolve(a.path)
	if err == nil && now == a.path {
		return nil
	}
	return a.wrong(a.path+" has become a link since the settings were read", "look at what it leads to, and start again")
}

func (a *pathTree) wrong(what, hint string) error {
	return &Error{Field: a.field, Origin: a.origin, Detail: what, hint: hint}
}

// readable finds what may be read: everything, or what every layer that restricts
// it names and what programs need to start.
func (c *compiler) readable() error {
	c.read = []pathTree{{path: "/", literal: "/"}}
	restricted := false
	for _, l := range c.layers {
		if l.read != nil {
			c.read = common(c.read, l.read)
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
			c.notice("%s: %s does not exist", a.field, a.path)
			return true
		}
		return false
	})
	for i := range c.read {
		if err := c.read[i].steady(); err != nil {
			return err
		}
	}
	for _, p := range existing(added) {
		if c.visible(p, c.read) {
			continue
		}
		c.read = append(c.read, pathTree{path: p, literal: p, planReason: planReason{text: "programs need it to start"}})
	}
	if !restricted {
		c.seen()
	}
	return nil
}

// seen makes folders of the workspace visible that lie where commands have a /tmp of
// their own, and may not be written.
func (c *compiler) seen() {
	for _, f := range c.folders {
		if !c.written(f.path) && (within(f.path, "/tmp") || within(f.path, "/var/tmp")) {
			c.read = append(c.read, f)
		}
	}
}

// visible says whether trees make a path visible.
func (c *compiler) visible(p string, list []pathTree) bool {
	return slices.ContainsFunc(list, func(a pathTree) bool {
		return within(p, a.path) && (a.path != "/" || !slices.ContainsFunc(specialFolders, func(dir string) bool { return within(p, dir) }))
	})
}

// written says whether a path lies in a tree that may be written.
func (c *compiler) written(p string) bool { return holding(c.write, p) != nil }

// holding returns the tree that holds a path, or nil.
func holding(list []pathTree, p string) *pathTree {
	for i := range list {
		if within(p, list[i].path) {
			return &list[i]
		}
	}
	return nil
}

func (c *compiler) notice(format string, args ...any) {
	c.notices = append(c.notices, fmt.Sprintf(format, args...))
}

// bounds takes over what is not about paths.
func (c *compiler) bounds() {
	m, p := c.merged, &c.policy
	p.Temp, p.Caches, p.Single = c.temp, c.caches, c.single
	p.Quarantine, p.CacheMounts = c.quarantine, c.covers()
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

// finish orders what was found, takes out what something else makes superfluous,
// and pins the folders on the way: without that, moving one would free what is in it.
func (c *compiler) finish() {
	p := &c.policy
	p.Hide = tops(c.hide)
	open := func(a pathTree) bool { return !inAny(p.Hide, a.path) }
	c.write = keep(c.write, func(a pathTree) bool { return open(a) && !inAny(c.fixed, a.path) })
	p.ReadOnly = tops(keep(c.fixed, func(f string) bool { return !inAny(p.Hide, f) && c.written(f) }))
	slices.Sort(p.ReadOnly)
	c.read = keep(c.read, open)
	closed := slices.Concat(p.Hide, p.ReadOnly)
	for _, n := range c.forbid {
		if !inAny(closed, n.Path) && !slices.ContainsFunc(p.Forbid, func(o kernel.Name) bool { return o.Path == n.Path }) {
			p.Forbid = append(p.Forbid, n)
		}
	}
	slices.SortFunc(p.Forbid, func(a, b kernel.Name) int { return strings.Compare(a.Path, b.Path) })
	pins := slices.Clone(c.pin)
	for _, at := range slices.Concat(closed, c.pin, namesOf(p.Forbid)) {
		if w := holding(c.write, at); w != nil {
			for dir := path.Dir(at); dir != w.path && within(dir, w.path); dir = path.Dir(dir) {
				pins = append(pins, dir)
			}
		}
	}
	slices.Sort(pins)
	p.Pin = keep(slices.Compact(pins), func(dir string) bool {
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
	c.mark()
}

func namesOf(list []kernel.Name) []string {
	out := make([]string, len(list))
	for i, n := range list {
		out[i] = n.Path
	}
	return out
}
