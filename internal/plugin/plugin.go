// Package plugin reads the folders of plugins, which have Claude Code's layout.
//
//	kit/.claude-plugin/plugin.json ─► name, version, description, paths of parts ─┐
//	kit/commands  kit/agents  kit/skills ─► folders for their loaders ────────────┼─► Plugin
//	kit/hooks/hooks.json  kit/.mcp.json ──► JSON for the decoders of settings ────┤
//	kit/themes  kit/.lsp.json  … ─────────► Unsupported ──────────────────────────┘
//
// The package finds the parts of a plugin, and starts and trusts nothing. It does not download plugins.
//
//	p, err := plugin.Read("/home/user/kit")
package plugin

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// Plugin is a plugin's folder.
type Plugin struct {
	Name        string
	Version     string // "" if the plugin has none
	Description string
	Root        string // absolute, without links

	Commands []Folder
	Skills   []Folder
	Agents   []Folder
	Hooks    []Block // each an object with lists of hooks by event
	Servers  []Block // each an object with MCP servers by name

	Unsupported []Unsupported
}

// Folder is a folder of a plugin with commands, skills or sub-agents.
type Folder struct {
	Dir  string // absolute
	Only string // the only entry of Dir that belongs to the plugin; "" for all
}

// Block is a JSON object in a file of a plugin.
type Block struct {
	File  string // absolute
	Text  []byte // the whole file
	Value jsontree.Node
}

// Unsupported is a part of a plugin that is not used.
type Unsupported struct {
	Part   string `json:"part"` // "themes"
	Reason string `json:"why"`
	// Quiet parts only affect the display.
	Quiet bool `json:"-"`
}

// Error is the reason why a folder cannot be used as a plugin.
type Error struct {
	File         string
	Line, Column int // from 1; 0 for the whole file
	Detail, Hint string
}

func (e *Error) Error() string { return e.File + ": " + e.Detail }

// RootVariable is the name of the variable with the plugin's folder.
const RootVariable = "CLAUDE_PLUGIN_ROOT"

const (
	dataVariable = "CLAUDE_PLUGIN_DATA"

	manifest = ".claude-plugin/plugin.json"
	hooks    = "hooks/hooks.json"
	servers  = ".mcp.json"
	maxFile  = 1 << 20 // bytes of a JSON file
)

// Fill replaces ${CLAUDE_PLUGIN_ROOT} in a text by the plugin's folder.
func (p *Plugin) Fill(text string) string {
	return strings.ReplaceAll(text, "${"+RootVariable+"}", p.Root)
}

// reader reads one plugin.
type reader struct {
	p    *Plugin
	root *os.Root
	text []byte // of the manifest
	err  error  // the first error
}

// Read reads the plugin in a folder. Links that lead out of the folder are errors. The error is an
// *[Error].
func Read(dir string) (*Plugin, error) {
	plain, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, &Error{File: dir, Detail: "the plugin's folder cannot be read: " + reason(err)}
	}
	r := &reader{p: &Plugin{Root: plain}}
	info, err := os.Stat(plain)
	switch {
	case err != nil:
		return nil, &Error{File: dir, Detail: "the plugin's folder cannot be read: " + reason(err)}
	case !info.IsDir():
		return nil, &Error{File: dir, Detail: "a plugin is a folder, and this is a file"}
	case info.Mode().Perm()&0o002 != 0:
		return nil, &Error{File: dir, Detail: "the plugin's folder is world-writable", Hint: "chmod o-w it"}
	}
	if r.root, err = os.OpenRoot(plain); err != nil {
		return nil, &Error{File: dir, Detail: "the plugin's folder cannot be read: " + reason(err)}
	}
	defer r.root.Close()
	r.readManifest()
	if r.err == nil && r.isEmpty() {
		r.fail(plain, "not a plugin: it has no "+manifest+" and no commands, agents, skills, hooks or MCP servers", "name the folder that contains .claude-plugin")
	}
	return r.p, r.err
}

// readManifest reads plugin.json, if the plugin has one, and the parts.
func (r *reader) readManifest() {
	var root jsontree.Node
	if r.exists(manifest) {
		b, ok := r.json(manifest)
		if !ok {
			return
		}
		r.text, root = b.Text, b.Value
	}
	replaced := map[string]bool{}
	for _, m := range root.Members {
		v := &m.Value
		switch m.Key {
		case "name":
			r.p.Name = r.textOf(m)
		case "version":
			r.p.Version = r.textOf(m)
		case "description":
			r.p.Description = strings.Join(strings.Fields(r.textOf(m)), " ")
		case "commands", "agents", "skills":
			replaced[m.Key] = m.Key != "skills"
			if v.Kind == jsontree.Object {
				r.unsupported(m.Key+" as an object", "write their paths as a list")
				continue
			}
			for _, name := range r.paths(m) {
				r.addFolder(m.Key, name)
			}
		case "hooks", "mcpServers":
			r.addBlocks(m)
		default:
			r.otherKey(m.Key)
		}
	}
	if r.p.Name = cmp.Or(r.p.Name, filepath.Base(r.p.Root)); r.err == nil && !validName(r.p.Name) {
		r.failAt(root.Field("name").At, `write "name" into `+manifest+": letters, digits and single hyphens", "%q cannot be the name of a plugin", r.p.Name)
	}
	for _, kind := range []string{"commands", "agents", "skills"} {
		if !replaced[kind] && r.exists(kind) {
			r.addFolder(kind, kind)
		}
	}
	for _, f := range [][2]string{{"hooks", hooks}, {"mcpServers", servers}} {
		if r.exists(f[1]) {
			r.addFile(f[0], f[1])
		}
	}
	r.findUnsupported()
}

func (r *reader) isEmpty() bool {
	p := r.p
	return r.text == nil && len(p.Commands)+len(p.Skills)+len(p.Agents)+len(p.Hooks)+len(p.Servers) == 0
}

// validName reports whether a plugin's name can be a part of the names of commands and tools.
func validName(name string) bool {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return name != "" && len(name) <= 40 && strings.Trim(name, letters+"-_") == "" && strings.ContainsAny(name[:1], letters) &&
		strings.ContainsAny(name[len(name)-1:], letters) && !strings.Contains(name, "__") && !strings.Contains(name, "--")
}

func (r *reader) fail(file, detail, hint string) {
	if r.err == nil {
		r.err = &Error{File: file, Detail: detail, Hint: hint}
	}
}

// failAt reports an error at an offset of the manifest.
func (r *reader) failAt(at int, hint, format string, args ...any) {
	if r.err != nil {
		return
	}
	e := &Error{File: filepath.Join(r.p.Root, manifest), Detail: fmt.Sprintf(format, args...), Hint: hint}
	if r.text == nil {
		e.File = r.p.Root
	} else {
		e.Line, e.Column = position(r.text, at)
	}
	r.err = e
}

func position(text []byte, at int) (line, col int) {
	before := text[:min(max(at, 0), len(text))]
	return bytes.Count(before, []byte("\n")) + 1, len(before) - bytes.LastIndexByte(before, '\n')
}

func (r *reader) textOf(m jsontree.Member) string {
	if m.Value.Kind != jsontree.Text {
		r.failAt(m.Value.At, "", "%s is %s, want a text", m.Key, m.Value.Kind)
	}
	return strings.TrimSpace(m.Value.Text)
}

// paths returns the paths in a member: one, or a list.
func (r *reader) paths(m jsontree.Member) (names []string) {
	list := m.Value.Items
	switch m.Value.Kind {
	case jsontree.Text:
		list = []jsontree.Node{m.Value}
	case jsontree.List:
	default:
		r.failAt(m.Value.At, "write a path such as \"./"+m.Key+"\", or a list of paths", "%s is %s, want a path", m.Key, m.Value.Kind)
	}
	for i := range list {
		if name, ok := r.path(m.Key, &list[i]); ok {
			names = append(names, name)
		}
	}
	return names
}

// path returns a path relative to the plugin's folder.
func (r *reader) path(key string, n *jsontree.Node) (string, bool) {
	name := path.Clean(strings.TrimPrefix(n.Text, "${"+RootVariable+"}/"))
	switch {
	case n.Kind != jsontree.Text:
		r.failAt(n.At, "", "%s contains %s, want a path", key, n.Kind)
	case !filepath.IsLocal(name):
		r.failAt(n.At, "write a path that begins with ./", "%s: %q is not a path in the plugin's folder", key, n.Text)
	case !r.exists(name):
		r.failAt(n.At, "", "%s: %s does not exist in the plugin's folder", key, n.Text)
	default:
		return name, true
	}
	return "", false
}

func (r *reader) exists(name string) bool {
	_, err := r.root.Stat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		r.fail(filepath.Join(r.p.Root, name), "cannot be read: "+reason(err), "")
	}
	return err == nil
}

// addFolder adds a folder of commands, skills or agents, or one of them.
func (r *reader) addFolder(kind, name string) {
	f := Folder{Dir: filepath.Join(r.p.Root, filepath.FromSlash(name))}
	info, err := r.root.Stat(name)
	one := err == nil && !info.IsDir()
	if kind == "skills" {
		one = r.exists(path.Join(name, "SKILL.md"))
	}
	if one {
		if name == "." {
			return // findUnsupported reports it
		}
		f.Dir, f.Only = filepath.Split(f.Dir)
		f.Dir = filepath.Clean(f.Dir)
	}
	into := map[string]*[]Folder{"commands": &r.p.Commands, "skills": &r.p.Skills, "agents": &r.p.Agents}[kind]
	if !slices.Contains(*into, f) {
		*into = append(*into, f)
	}
}

// addBlocks adds the hooks or servers of a member of the manifest: an object, a path, or a list of
// them.
func (r *reader) addBlocks(m jsontree.Member) {
	list := m.Value.Items
	if m.Value.Kind != jsontree.List {
		list = []jsontree.Node{m.Value}
	}
	for i := range list {
		n := &list[i]
		if n.Kind == jsontree.Object {
			if inner := n.Member(m.Key); inner != nil {
				n = inner
			}
			r.addBlock(m.Key, Block{filepath.Join(r.p.Root, manifest), r.text, *n})
			continue
		}
		if name, ok := r.path(m.Key, n); ok {
			r.addFile(m.Key, name)
		}
	}
}

// addFile adds a file with hooks or servers, unless it is already added.
func (r *reader) addFile(key, name string) {
	b, ok := r.json(name)
	same := func(o Block) bool { return o.File == b.File }
	if !ok || slices.ContainsFunc(r.p.Hooks, same) || slices.ContainsFunc(r.p.Servers, same) {
		return
	}
	inner := b.Value.Member(key)
	switch {
	case inner != nil:
		for _, m := range b.Value.Members {
			if m.Key != key && m.Key != "description" && m.Key != "$schema" {
				r.unsupported(m.Key+" in "+name, "unknown key")
			}
		}
		b.Value = *inner
	case key == "hooks":
		r.fail(b.File, "hooks is missing", `write {"hooks": {"PreToolUse": [...]}}`)
		return
	}
	r.addBlock(key, b)
}

func (r *reader) addBlock(key string, b Block) {
	if b.Value.Kind != jsontree.Object {
		r.fail(b.File, fmt.Sprintf("%s is %s, want an object", key, b.Value.Kind), "")
		return
	}
	if bytes.Contains(b.Text[b.Value.At:b.Value.End], []byte(dataVariable)) {
		r.addUnused(dataVariable, "the variable is not set, because a plugin has no folder for data", false)
	}
	if key == "hooks" {
		r.p.Hooks = append(r.p.Hooks, b)
	} else {
		r.p.Servers = append(r.p.Servers, b)
	}
}

// json reads a file with a JSON object.
func (r *reader) json(name string) (b Block, ok bool) {
	b.File = filepath.Join(r.p.Root, filepath.FromSlash(name))
	text, err := r.read(name)
	if err == nil {
		b.Text = text
		b.Value, err = jsontree.Parse(text)
	}
	if e, bad := errors.AsType[*jsontree.Error](err); bad {
		if r.err == nil {
			f := &Error{File: b.File, Detail: e.What, Hint: e.Hint}
			f.Line, f.Column = position(text, e.Offset)
			r.err = f
		}
		return b, false
	}
	if err != nil {
		r.fail(b.File, "cannot be read: "+reason(err), "")
		return b, false
	}
	if b.Value.Kind != jsontree.Object {
		r.fail(b.File, fmt.Sprintf("it is %s, want an object", b.Value.Kind), "")
		return b, false
	}
	return b, true
}

func (r *reader) read(name string) ([]byte, error) {
	f, err := r.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // do not block on a pipe
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("not a regular file")
	}
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = fmt.Errorf("larger than %d KiB", maxFile>>10)
	}
	return b, err
}

func reason(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err.Error()
	}
	return err.Error()
}
