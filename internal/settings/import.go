package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/importsettings"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

// ImportOptions configures [Import].
type ImportOptions struct {
	Options  *Options // location of the settings
	Programs []string // names of programs, see [Importable]; empty means all
	// Layer is the target: layernames.User imports the user's files, Project those of the project,
	// Local the project's and the user's files in the project.
	Layer  string
	DryRun bool // write nothing
}

// Imported is the result of importing settings of other programs.
type Imported struct {
	Layer       string               `json:"layer"`
	File        string               `json:"file"`              // Holdfast's file
	Read        []string             `json:"read"`              // files of other programs
	Imported    []Effective          `json:"taken"`             // new values
	Conflicts   []Effective          `json:"kept"`              // values that Holdfast's settings set differently
	Unsupported []UnsupportedSetting `json:"no_equal"`          // settings without an equivalent
	DryRun      bool                 `json:"dry_run,omitempty"` // nothing was written
	Written     bool                 `json:"written"`
}

// Importable returns the names of the programs.
func Importable() (names []string) {
	for _, p := range importsettings.Programs {
		names = append(names, string(p))
	}
	return names
}

// importFiles returns the files of a program for a layer, the strongest first.
func (o *Options) importFiles(p importsettings.Program, layer string) []string {
	in := func(dir string, names ...string) (list []string) {
		for _, name := range names {
			if dir != "" {
				list = append(list, filepath.Join(dir, name))
			}
		}
		return list
	}
	withRules := func(codex string) []string {
		list := in(codex, codexFile)
		for _, f := range codexRules(layer, codex, codex) {
			list = append(list, f.file)
		}
		return list
	}
	if layer == layernames.User {
		switch p {
		case importsettings.Claude:
			return in(o.claudeHome(), projectFile)
		case importsettings.Codex:
			return withRules(o.codexHome())
		case importsettings.OpenCode:
			return in(o.programHome("", ".config/opencode"), "opencode.json", "opencode.jsonc", "config.json")
		case importsettings.Gemini:
			return in(o.programHome("", ".gemini"), projectFile)
		}
	}
	switch p {
	case importsettings.Claude:
		if layer == layernames.Local {
			return in(o.Project, ".claude/"+localFile, ".claude/"+projectFile)
		}
		return in(o.Project, ".claude/"+projectFile)
	case importsettings.Codex:
		return withRules(filepath.Join(o.Project, ".codex"))
	case importsettings.OpenCode:
		return in(o.Project, "opencode.json", "opencode.jsonc", ".opencode/opencode.json")
	case importsettings.Gemini:
		return in(o.Project, ".gemini/"+projectFile)
	}
	return nil
}

// importable is a value that may be imported.
type importable struct {
	path   []string
	raw    json.RawMessage
	inList bool
	show   Effective
}

// Import imports settings of other programs into a settings file and reports those without an
// equivalent. Existing settings are kept: lists are extended, and single values are added only if
// missing. Errors are *[Error].
func Import(o *ImportOptions) (*Imported, error) {
	opt, err := o.Options.complete()
	if err != nil {
		return nil, err
	}
	out := &Imported{
		Layer: o.Layer, File: LayerFile(o.Layer, opt.Project, opt.Home), DryRun: o.DryRun,
		Read: []string{}, Imported: []Effective{}, Conflicts: []Effective{}, Unsupported: []UnsupportedSetting{},
	}
	var all []importable
	for _, p := range importsettings.Programs {
		if len(o.Programs) > 0 && !slices.Contains(o.Programs, string(p)) {
			continue
		}
		for _, file := range opt.importFiles(p, o.Layer) {
			dir := opt.Project
			if o.Layer == layernames.User {
				dir = filepath.Dir(file)
			}
			src, err := opt.read(o.Layer, file, dir)
			if err != nil {
				return nil, err
			}
			for i := range src {
				src[i].program, src[i].kind, src[i].importing = p, importsettings.Settings, true
				if filepath.Ext(file) == ".rules" {
					src[i].kind = importsettings.Rules
				}
				s := decode(src[i])
				if err := fatalError(s.problems); err != nil {
					return nil, err
				}
				out.Read = append(out.Read, file)
				list, left := s.candidates(out.File)
				folders, others := opt.importPlugins(&src[i])
				if len(folders)+len(others) > 0 {
					left = slices.DeleteFunc(left, func(u UnsupportedSetting) bool { return u.Key == enabledPlugins })
				}
				all, out.Unsupported = slices.Concat(all, list, folders), slices.Concat(out.Unsupported, left, others)
			}
		}
	}
	e := listEdit(o.Layer, out.File)
	e.dry = o.DryRun
	_, err = e.do(func(root []member) ([]member, error) {
		for _, c := range all {
			added, exists := false, false
			if root, added, exists, err = addValue(root, c.path, c.raw, c.inList); err != nil {
				return nil, err
			}
			switch {
			case added:
				out.Imported = append(out.Imported, c.show)
			case exists:
				out.Conflicts = append(out.Conflicts, c.show)
			}
		}
		if out.Written = len(out.Imported) > 0 && !o.DryRun; len(out.Imported) == 0 {
			return nil, nil
		}
		return root, nil
	})
	return out, err
}

// candidates checks each value of another program's file separately and returns those that can be
// written into a Holdfast file. The result left has the other values.
func (s *parsedSource) candidates(file string) (list []importable, left []UnsupportedSetting) {
	for _, f := range s.foreign {
		if f.Key != "hooks" { // each is checked below
			left = append(left, f)
		}
	}
	try := func(c importable) {
		alone := c.raw
		if c.inList {
			alone = slices.Concat([]byte("["), alone, []byte("]"))
		}
		for _, name := range slices.Backward(c.path) {
			alone = joined([]member{{name, alone}})
		}
		if effect, ok := strings.CutPrefix(c.show.Key, "permissions."); ok && c.inList && slices.Contains([]string{"allow", "ask", "deny"}, effect) {
			rule := policy.RuleSource{Effect: policy.Effect(effect), Text: c.show.Value, Layer: s.layer, File: file, Dir: filepath.Dir(file)}
			if _, found, err := (policy.RuleOptions{Home: s.user, Cwd: s.dir, Resolve: Resolve}).Compile([]policy.RuleSource{rule}); err != nil {
				left = append(left, UnsupportedSetting{Key: c.show.Key, Reason: found[0].Detail, Origin: c.show.Origin})
				return
			}
		}
		test := decode(source{layer: s.layer, file: file, dir: filepath.Dir(file), user: s.user, data: alone})
		if e, ok := errors.AsType[*Error](fatalError(test.problems)); ok {
			left = append(left, UnsupportedSetting{Key: c.show.Key, Reason: e.Problems[0].Detail, Origin: c.show.Origin})
			return
		}
		list = append(list, c)
	}
	known := &Settings{Foreign: s.foreign}
	for _, v := range s.values {
		if known.hasNoEffect(v) || v.key == "sandbox.enabled" {
			continue
		}
		value := v.value
		if s.layer == layernames.User {
			value = s.absolute(v.key, value)
		}
		raw := v.raw
		if value != v.value {
			raw = Quote(value)
		}
		try(importable{v.path, raw, v.inList, Effective{Key: v.key, Value: value, Origin: v.origin, Program: string(s.program)}})
	}
	root, err := parse(s.data)
	if err != nil {
		return list, left
	}
	for _, m := range root.Field("hooks").Members {
		if root.Field("hooks").At == root.At {
			break // there is none
		}
		for _, group := range m.Value.Items {
			raw := json.RawMessage(s.data[group.At:group.End])
			try(importable{[]string{"hooks", m.Key}, raw, true, Effective{Key: "hooks." + m.Key, Value: string(raw), Origin: s.origin(group, m.Key), Program: string(s.program)}})
		}
	}
	for _, m := range root.Field("mcpServers").Members {
		if root.Field("mcpServers").At == root.At {
			break
		}
		raw := json.RawMessage(s.data[m.Value.At:m.Value.End])
		try(importable{[]string{"mcpServers", m.Key}, raw, false, Effective{Key: "mcpServers." + m.Key, Value: string(raw), Origin: s.origin(m.Value, m.Key), Program: string(s.program)}})
	}
	return list, left
}

// rooted matches a path rule relative to the settings' folder.
var rooted = lazyregexp.Must(`\A([A-Za-z]+)\((/[^/].*)\)\z`)

// absolute rewrites a path relative to the settings' folder so that it has the same meaning in a
// file in another folder.
func (s *parsedSource) absolute(key, value string) string {
	switch {
	case key == "permissions.additionalDirectories" && !filepath.IsAbs(value) && !strings.HasPrefix(value, "~"):
		return filepath.Join(s.dir, value)
	case key == "permissions.allow" || key == "permissions.ask" || key == "permissions.deny":
		if m := rooted().FindStringSubmatch(value); m != nil && m[1] != "Bash" && m[1] != "WebFetch" {
			return fmt.Sprintf("%s(/%s)", m[1], filepath.Join(s.dir, m[2]))
		}
	}
	return value
}

// addValue adds a value to an object. If there is a list at the path, it adds the value to that list;
// if there is nothing, it sets the value. The result exists is true if the object already has a
// different value there.
func addValue(list []member, path []string, raw json.RawMessage, inList bool) (_ []member, added, exists bool, err error) {
	i := slices.IndexFunc(list, func(m member) bool { return m.key == path[0] })
	if len(path) > 1 {
		var inner []member
		if i >= 0 {
			if inner, err = members(list[i].value); err != nil {
				return list, false, true, nil // another value
			}
		}
		inner, added, exists, err = addValue(inner, path[1:], raw, inList)
		if added {
			list = put(list, path[0], joined(inner))
		}
		return list, added, exists, err
	}
	if !inList {
		switch {
		case i < 0:
			return put(list, path[0], raw), true, false, nil
		case sameJSON(list[i].value, raw):
			return list, false, false, nil
		}
		return list, false, true, nil
	}
	var items []json.RawMessage
	if i >= 0 {
		if err := json.Unmarshal(list[i].value, &items); err != nil {
			return list, false, true, nil
		}
	}
	if slices.ContainsFunc(items, func(v json.RawMessage) bool { return sameJSON(v, raw) }) {
		return list, false, false, nil
	}
	b, err := json.Marshal(append(items, raw))
	return put(list, path[0], b), err == nil, false, err
}

// sameJSON reports whether two values are equal, regardless of formatting.
func sameJSON(a, b json.RawMessage) bool {
	x, errX := jsontree.Parse(a)
	y, errY := jsontree.Parse(b)
	return errX == nil && errY == nil && sameNode(&x, &y)
}

func sameNode(a, b *jsontree.Node) bool {
	if a.Kind != b.Kind || a.Text != b.Text || len(a.Members) != len(b.Members) || len(a.Items) != len(b.Items) {
		return false
	}
	for i := range a.Items {
		if !sameNode(&a.Items[i], &b.Items[i]) {
			return false
		}
	}
	for i := range a.Members {
		j := slices.IndexFunc(b.Members, func(m jsontree.Member) bool { return m.Key == a.Members[i].Key })
		if j < 0 || !sameNode(&a.Members[i].Value, &b.Members[j].Value) {
			return false
		}
	}
	return true
}
