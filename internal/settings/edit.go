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

// fileEdit is a change of one settings file. Everything else in the file stays, in its order.
type fileEdit struct {
	layer, file string
	mode        fs.FileMode // of a file that is not there yet
	check       func(source) error
	mayRepair   bool // what is wrong in the file may be what is changed
	dry         bool // nothing is written
}

// do writes the file with the root that change makes of it, or leaves the file alone when that
// is nil. It returns what the file says then. A file that cannot be read, or that would be wrong,
// is an *[Error], and nothing is written.
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
		if !e.mayRepair { // what was wrong before is told before it is touched
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

// write replaces the file and keeps who may read it.
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
		gitIgnore(dir)
	}
	if err := diskfile.Write(file, data); err != nil {
		return err
	}
	return os.Chmod(file, mode)
}

// gitIgnore has git leave alone what is one person's in a project's .holdfast, unless somebody has
// said something else there.
func gitIgnore(dir string) {
	f, err := os.OpenFile(filepath.Join(dir, ".gitignore"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return // it is there
	}
	_, _ = f.WriteString("# One person's; settings.json is for all who work on the project.\n/.gitignore\n/" + localFile + "\n/project\n")
	_ = f.Close()
}

// member is a key of an object with its value, as they are written.
type member struct {
	key   string
	value json.RawMessage
}

// members takes an object apart, in its order.
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

// object takes the object apart that a member of another one is; without it there are no members.
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

// put sets a member in its place or behind the others, or takes it out when value is nil.
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

// joined is an object of members.
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

// Quote is a text in JSON, without escapes for HTML.
func Quote(s string) json.RawMessage {
	return json.RawMessage(jsonscan.Quote(s))
}
