package runspec

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// namedPath is a path in a spec.
type namedPath struct{ field, path string }

// paths lists the paths that a spec contains, each with the name of its field. It leaves out
// settings and MCP configurations that are JSON text.
func (s *Spec) paths() (list []namedPath) {
	add := func(field, path string) {
		if path != "" && !jsontree.StartsObject(path) {
			list = append(list, namedPath{field, path})
		}
	}
	add("cwd", s.Cwd)
	for _, dir := range s.AddDirs {
		add("add_dirs", dir)
	}
	for _, dir := range s.PluginDirs {
		add("plugin_dirs", dir)
	}
	add("strategy_path", s.StrategyPath)
	for _, file := range s.Permissions.Settings {
		add("permissions.settings", file)
	}
	for _, file := range s.MCP.Configs {
		add("mcp.configs", file)
	}
	for _, m := range [...]namedPath{{"model", s.Model}, {"model_options.fallback", s.ModelOptions.Fallback}} {
		if path, ok := strings.CutPrefix(m.path, scriptedPrefix); ok {
			add(m.field, path)
		}
	}
	return list
}

// scriptedPrefix is the prefix of a model name whose rest is the path of a scripted model.
const scriptedPrefix = "scripted/"

// maxInline is the maximum size of a file that [Spec.Resolve] stores in the spec, in bytes.
const maxInline = 1 << 20

// Resolve makes the spec independent of the process that built it: relative paths are made
// absolute, with dir as their base, and a settings or MCP file that is not a regular file (a pipe)
// is replaced by its content. For a regular file the path is kept, so that decisions can name the
// lines of the file.
func (s *Spec) Resolve(dir string) error {
	abs := func(path string) string {
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	s.Cwd, s.StrategyPath = abs(s.Cwd), abs(s.StrategyPath)
	for _, m := range []*string{&s.Model, &s.ModelOptions.Fallback} {
		if path, ok := strings.CutPrefix(*m, scriptedPrefix); ok && path != "" {
			*m = scriptedPrefix + abs(path)
		}
	}
	for _, list := range []*[]string{&s.AddDirs, &s.PluginDirs} {
		*list = slices.Clone(*list)
		for i, d := range *list {
			(*list)[i] = abs(d)
		}
	}
	return s.readFiles(abs)
}

// ReadPipes replaces settings and MCP files that are not regular files by their content: a pipe
// can be read only once.
func (s *Spec) ReadPipes() error {
	return s.readFiles(func(path string) string { return path })
}

func (s *Spec) readFiles(abs func(string) string) (err error) {
	if s.Permissions.Settings, err = resolveFiles("permissions.settings", s.Permissions.Settings, abs); err != nil {
		return err
	}
	s.MCP.Configs, err = resolveFiles("mcp.configs", s.MCP.Configs, abs)
	return err
}

func resolveFiles(field string, entries []string, abs func(string) string) (list []string, err error) {
	for _, entry := range entries {
		if !jsontree.StartsObject(entry) {
			entry = abs(entry)
			if entry, err = readPipe(field, entry); err != nil {
				return nil, err
			}
		}
		list = append(list, entry)
	}
	return list, nil
}

// readPipe returns the content of a file that is not a regular file. For a regular or missing file
// it returns the path.
func readPipe(field, path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil || info.Mode().IsRegular() || info.IsDir() {
		return path, nil //nolint:nilerr // the reader of the settings reports it
	}
	f, err := os.Open(path)
	if err != nil {
		return "", &Error{field, err.Error(), ""}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxInline+1))
	switch {
	case err != nil:
		return "", &Error{field, err.Error(), ""}
	case len(b) > maxInline:
		return "", &Error{field, fmt.Sprintf("%s is larger than %d bytes", path, maxInline), "write it to a file"}
	case !jsontree.StartsObject(string(b)):
		return "", &Error{field, path + " does not contain a JSON object", ""}
	}
	return string(b), nil
}

// Merge returns the spec with every unset field taken from base.
func (s Spec) Merge(base Spec) Spec {
	fill(reflect.ValueOf(&s).Elem(), reflect.ValueOf(base))
	return s
}

func fill(v, base reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); {
		case f.Kind() == reflect.Struct:
			fill(f, base.Field(i))
		case f.IsZero():
			f.Set(base.Field(i))
		}
	}
}

// ForResume returns the spec of a run that continues this run's session: without the prompt and the
// other fields that apply only to the start.
func (s Spec) ForResume(sessionID string) Spec {
	s.Prompt, s.Images, s.Hooks.Setup, s.Session = "", nil, "", Session{ID: sessionID}
	return s
}
