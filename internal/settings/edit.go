package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/layernames"
)

// fileEdit is a change of one settings file. The rest of the file is kept in its order.
type fileEdit struct {
	layer, file string
	mode        fs.FileMode // of a new file
	check       func(source) error
	mayRepair   bool // the part to be changed may contain an existing problem
	dry         bool // write nothing
}

// do calls change and writes the file with the root that change returns. If that root is nil, the
// file does not change. It returns the new content. If the file is unreadable or would become
// invalid, the error is an *[Error] and nothing is written.
func (e *fileEdit) do(change func(root []member) ([]member, error)) ([]byte, error) {
	src := source{layer: e.layer, file: e.file, dir: filepath.Dir(e.file), data: []byte("{}")}
	there, err := exists(e.file)
	if err != nil {
		return nil, unreadable(e.layer, e.file, err)
	}
	if there {
		data, err := readFile(e.layer, e.file)
		if err != nil {
			return nil, err
		}
		if len(bytes.TrimSpace(data)) > 0 {
			src.data = data
		}
		if !e.mayRepair { // report existing problems before the change
			if err := e.check(src); err != nil {
				return nil, err
			}
		}
	}
	broken := func(err error) error {
		return &Error{Problems: []Problem{{Layer: e.layer, File: e.file, Detail: err.Error(), Hint: "fix the file", Fatal: true}}}
	}
	if _, err := parse(src.data); err != nil {
		return nil, broken(err)
	}
	root, err := members(src.data)
	if err != nil {
		return nil, broken(err)
	}
	if root, err = change(root); err != nil {
		return nil, broken(err)
	}
	if root == nil {
		return src.data, nil
	}
	var b bytes.Buffer
	if err := json.Indent(&b, joined(root), "", "  "); err != nil {
		return nil, broken(err)
	}
	b.WriteByte('\n')
	src.data = b.Bytes()
	if err := e.check(src); err != nil {
		return nil, err
	}
	if e.dry {
		return src.data, nil
	}
	return src.data, e.write(src.data)
}

// write replaces the file and keeps its permissions.
func (e *fileEdit) write(data []byte) error {
	file, mode := e.file, e.mode
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	info, err := os.Stat(file)
	switch {
	case err == nil:
		mode = info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if e.layer == layernames.Local && info == nil {
		writeGitIgnore(dir)
	}
	if err := diskfile.Write(file, data); err != nil {
		return err
	}
	return os.Chmod(file, mode)
}

// writeGitIgnore excludes the personal files in a project's .holdfast from git, unless a .gitignore
// exists there.
func writeGitIgnore(dir string) {
	f, err := os.OpenFile(filepath.Join(dir, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return // it exists
	}
	_, _ = f.WriteString("# Personal files; settings.json is shared with everyone who works on the project.\n/.gitignore\n/" + localFile + "\n/project\n")
	_ = f.Close()
}

// member is a key and value of an object, as written.
type member struct {
	key   string
	value json.RawMessage
}

// members splits an object into its members, in order.
func members(text []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it is not an object")
	}
	var list []member
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, err
		}
		m := member{key: fmt.Sprint(key)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// object returns the members of a nested object; none if it does not exist.
func object(list []member, key string) ([]member, error) {
	i := slices.IndexFunc(list, func(m member) bool { return m.key == key })
	if i < 0 {
		return nil, nil
	}
	inner, err := members(list[i].value)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	return inner, nil
}

// put replaces a member or appends it, or removes it if value is nil.
func put(list []member, key string, value json.RawMessage) []member {
	i := slices.IndexFunc(list, func(m member) bool { return m.key == key })
	switch {
	case value == nil && i >= 0:
		return slices.Delete(list, i, i+1)
	case value == nil:
	case i >= 0:
		list[i].value = value
	default:
		list = append(list, member{key, value})
	}
	return list
}

// joined returns an object with the given members.
func joined(list []member) json.RawMessage {
	b := []byte{'{'}
	for i, m := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, Quote(m.key)...), ':'), m.value...)
	}
	return append(b, '}')
}

// Quote returns a text as JSON, without HTML escapes.
func Quote(s string) json.RawMessage {
	return json.RawMessage(jsonscan.Quote(s))
}
