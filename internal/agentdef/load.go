package agentdef

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/plugin"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// Options are the places that definitions are read from.
type Options struct {
	Project string            // the project's folder: its .holdfast/agents and .claude/agents are read; "" for none
	Trusted bool              // true if the user trusts the project's definitions; otherwise they are reported but not used
	Home    string            // HOLDFAST_HOME: its folder agents is read; "" for none
	User    string            // the user's home folder: its .claude/agents is read; "" for none
	Plugins []settings.Plugin // their definitions are named PLUGIN:NAME
	// JSON is an object of definitions by name, which override all files; "" for none.
	JSON string
}

// Set has the definitions that were found.
type Set struct {
	Definitions []agent.Definition // sorted by name
	// Servers are the MCP servers that definitions define for their sub-agents.
	// [settings.Settings.SetServerStatus] decides which are started.
	Servers  []settings.MCPServer
	Problems []Problem
}

// maxFiles is the maximum number of files read from a folder. maxDepth is the maximum depth of
// nested folders.
const (
	maxFiles = 200
	maxDepth = 4
)

// location is a folder of definitions, or one of them, below a root folder. Links out of the root
// are not followed.
type location struct {
	root, below string
	layer       string
	plugin      *plugin.Plugin // that contains the folder; nil for none
}

// Load reads all definitions, in this order: JSON, those of plugins, the project's, the user's. If several
// definitions have the same name, the first is used; .holdfast comes before .claude.
func Load(o *Options) *Set {
	s := &Set{}
	if o.JSON != "" {
		s.readJSON(o.JSON)
	}
	places, untrusted := o.inPlugins()
	s.reportUntrusted(o.Project, untrusted)
	if o.Project != "" {
		inProject := []location{{o.Project, ".holdfast/agents", layernames.Project, nil}, {o.Project, ".claude/agents", layernames.Project, nil}}
		if o.Trusted {
			places = append(places, inProject...)
		} else {
			s.reportUntrusted(o.Project, inProject)
		}
	}
	if o.Home != "" {
		places = append(places, location{o.Home, "agents", layernames.User, nil})
	}
	if o.User != "" {
		places = append(places, location{o.User, ".claude/agents", layernames.User, nil})
	}
	for _, p := range places {
		s.readFolder(p)
	}
	for i := range s.Servers {
		s.Servers[i].Folder = o.Project
	}
	slices.SortStableFunc(s.Definitions, func(a, b agent.Definition) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// inPlugins returns the places in plugins, and those that are not used because the folder that names
// the plugin is not trusted.
func (o *Options) inPlugins() (used, untrusted []location) {
	for i := range o.Plugins {
		p := &o.Plugins[i]
		for _, f := range p.Agents {
			below, err := filepath.Rel(p.Root, filepath.Join(f.Dir, f.Only))
			if err != nil {
				continue // cannot happen, because the folder is in the plugin
			}
			at := location{p.Root, filepath.ToSlash(below), p.Origin.Layer, &p.Plugin}
			if p.FromFolder() && !o.Trusted {
				untrusted = append(untrusted, at)
			} else {
				used = append(used, at)
			}
		}
	}
	return used, untrusted
}

// reportUntrusted reports definitions that are not read because the folder is not trusted.
func (s *Set) reportUntrusted(project string, places []location) {
	for _, p := range places {
		dir := filepath.Join(p.root, filepath.FromSlash(p.below))
		if list, err := os.ReadDir(dir); err == nil && len(list) > 0 {
			s.Problems = append(s.Problems, Problem{
				File: dir, Detail: "its sub-agent definitions are not used because the folder is not trusted",
				Hint: "review them, then run: holdfast trust " + project,
			})
		}
	}
}

// readFolder adds the files of a place. It does not follow links out of it.
func (s *Set) readFolder(p location) {
	dir := filepath.Join(p.root, filepath.FromSlash(p.below))
	if _, err := os.Lstat(dir); err != nil {
		return
	}
	root, err := os.OpenRoot(p.root)
	if err != nil {
		s.reportUnread(dir, err)
		return
	}
	defer func() { _ = root.Close() }()
	n := 0
	err = fs.WalkDir(root.FS(), p.below, func(name string, e fs.DirEntry, err error) error {
		switch full := filepath.Join(p.root, filepath.FromSlash(name)); {
		case err != nil:
			s.reportUnread(full, err)
			if e != nil && e.IsDir() {
				return fs.SkipDir
			}
		case e.IsDir() && strings.Count(name, "/")-strings.Count(p.below, "/") > maxDepth:
			return fs.SkipDir
		case e.IsDir() || path.Ext(name) != ".md" || strings.EqualFold(path.Base(name), "readme.md"):
		case n == maxFiles:
			s.Problems = append(s.Problems, Problem{File: dir, Detail: fmt.Sprintf("more than %d files: the rest is not read", maxFiles)})
			return fs.SkipAll
		default:
			n++
			s.readFile(root, name, full, &p)
		}
		return nil
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.reportUnread(dir, err)
	}
}

func (s *Set) reportUnread(file string, err error) {
	s.Problems = append(s.Problems, Problem{File: file, Detail: "cannot be read: " + err.Error(), Fatal: true})
}

func (s *Set) readFile(root *os.Root, name, full string, at *location) {
	info, err := root.Stat(name)
	switch {
	case err != nil:
		s.reportUnread(full, err)
		return
	case !info.Mode().IsRegular():
		s.reportUnread(full, errors.New("not a regular file"))
		return
	case info.Size() > maxFile:
		s.reportUnread(full, errors.New("larger than 256 KiB"))
		return
	}
	b, err := root.ReadFile(name)
	if err != nil {
		s.reportUnread(full, err)
		return
	}
	if at.plugin != nil {
		b = []byte(at.plugin.Fill(string(b)))
	}
	d := parse(full, b)
	if at.plugin != nil {
		d.d.Name = at.plugin.Name + ":" + d.d.Name
		d.checkName(0)
	}
	s.add(d, at.layer)
}

// add adds a definition, unless it is invalid or its name is already defined.
func (s *Set) add(r *reader, layer string) {
	d, problems, ok := r.done()
	s.Problems = append(s.Problems, problems...)
	if !ok || slices.ContainsFunc(s.Definitions, func(e agent.Definition) bool { return e.Name == d.Name }) {
		return
	}
	s.Definitions = append(s.Definitions, d)
	for _, srv := range r.servers {
		srv.Kind, srv.Origin.Layer = d.Name, layer
		s.Servers = append(s.Servers, srv)
	}
}

// jsonFile is the file name of the JSON in problems.
const jsonFile = "--agents"

// readJSON reads definitions by name: {"reviewer": {"description": "…", "prompt": "…"}}.
func (s *Set) readJSON(source string) {
	n, err := jsontree.Parse([]byte(source))
	if err == nil && n.Kind != jsontree.Object {
		err = fmt.Errorf("must be an object of definitions by name, not %s", n.Show())
	}
	if err != nil {
		s.Problems = append(s.Problems, Problem{File: jsonFile, Detail: err.Error(), Fatal: true, Hint: `write {"NAME": {"description": "…", "prompt": "…"}}`})
		return
	}
	for i := range n.Members {
		m := &n.Members[i]
		r := &reader{file: jsonFile, source: []byte(source), d: agent.Definition{Name: m.Key, Origin: jsonFile}}
		if m.Value.Kind != jsontree.Object {
			r.refuse(m.Value.At, fmt.Sprintf("%s must be an object, not %s", m.Key, m.Value.Show()), "")
		} else {
			r.fields(&m.Value)
			if r.d.Name != m.Key {
				r.refuse(m.At, fmt.Sprintf("name is %s, but the key is %s", r.d.Name, m.Key), "remove name")
			}
			r.checkRequired(m.At)
		}
		s.add(r, layernames.Flag)
	}
}
