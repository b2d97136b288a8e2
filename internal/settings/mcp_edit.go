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
)

// MCPScope is where a server is written down by [EditMCP].
type MCPScope string

// The scopes, as `claude mcp add` names them.
const (
	MCPLocal   MCPScope = "local"   // settings.local.json of the project: yours, and this project's
	MCPProject MCPScope = "project" // .mcp.json: of all who work on the project
	MCPUser    MCPScope = "user"    // your own settings: every project's
)

// MCPScopeFile is the file of a scope, for a project and HOLDFAST_HOME.
func MCPScopeFile(scope MCPScope, project, home string) string {
	switch scope {
	case MCPProject:
		return filepath.Join(project, mcpFile)
	case MCPUser:
		return filepath.Join(home, projectFile)
	case MCPLocal:
	}
	return filepath.Join(project, projectDir, localFile)
}

// EditMCP writes the definition of a server into the file of a scope, or takes it out when
// the definition is nil; everything else in the file stays. It reports whether there was
// one of that name before. A definition that could not be used is an *[Error] that names
// no file, and nothing is written; so is a file that cannot be read, with its place.
func EditMCP(scope MCPScope, file, name string, definition json.RawMessage) (replaced bool, err error) {
	layer := string(scope)
	if definition != nil {
		if err := usableMCP(layer, name, definition); err != nil {
			return false, err
		}
	}
	src := source{layer: layer, file: file, dir: filepath.Dir(file)}
	there, err := exists(file)
	if err != nil {
		return false, unreadable(layer, file, err)
	}
	if there {
		if src.data, err = readFile(layer, file); err != nil {
			return false, err
		}
	} else if definition == nil {
		return false, nil
	}
	text := src.data
	if len(bytes.TrimSpace(text)) == 0 {
		text = []byte("{}")
	}
	check := func() error {
		if scope == MCPProject {
			return refuse(decodeMCP(src, false).problems)
		}
		return refuse(decode(src).problems)
	}
	if there && scope != MCPProject { // what was wrong before is told before it is touched
		if err := check(); err != nil {
			return false, err
		}
	}
	if src.data, replaced, err = setServer(text, name, definition); err != nil {
		return false, &Error{Problems: []Problem{{Layer: layer, File: file, What: err.Error(), Hint: "mend the file", Fatal: true}}}
	}
	if definition == nil && !replaced {
		return false, nil
	}
	if err := check(); err != nil {
		return replaced, err
	}
	return replaced, writeKept(scope, file, src.data)
}

// usableMCP judges a definition by itself: what is wrong with it stands in no file.
func usableMCP(layer string, name string, definition json.RawMessage) error {
	alone, err := object([]member{{name, definition}})
	if err == nil {
		alone, err = object([]member{{"mcpServers", alone}})
	}
	if err == nil {
		_, err = parse(alone)
	}
	if !json.Valid(definition) || err != nil {
		return &Error{Problems: []Problem{{
			Layer: layer, What: fmt.Sprintf("the definition of %q is no JSON", name), Hint: `write an object such as {"command": "some-server", "args": ["."]}`, Fatal: true,
		}}}
	}
	return refuse(decodeMCP(source{layer: layer, data: alone}, false).problems)
}

// writeKept replaces a file and keeps who may read it. What everybody who works on the
// project shares is readable from the start.
func writeKept(scope MCPScope, file string, data []byte) error {
	mode := fs.FileMode(0o600)
	if scope == MCPProject {
		mode = 0o644
	}
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
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := diskfile.Write(file, data); err != nil {
		return err
	}
	return os.Chmod(file, mode)
}

// member is a key of an object with its value, as they are written.
type member struct {
	key   string
	value json.RawMessage
}

// setServer changes mcpServers in a text and leaves the rest, in its order.
func setServer(text []byte, name string, definition json.RawMessage) (out []byte, replaced bool, err error) {
	if _, err := parse(text); err != nil {
		return nil, false, err
	}
	root, err := members(text)
	if err != nil {
		return nil, false, err
	}
	var servers []member
	at := slices.IndexFunc(root, func(m member) bool { return m.key == "mcpServers" })
	if at >= 0 {
		if servers, err = members(root[at].value); err != nil {
			return nil, false, fmt.Errorf("mcpServers: %w", err)
		}
	} else {
		at = len(root)
		root = append(root, member{key: "mcpServers"})
	}
	i := slices.IndexFunc(servers, func(m member) bool { return m.key == name })
	switch {
	case definition == nil && i >= 0:
		servers = slices.Delete(servers, i, i+1)
	case definition != nil && i >= 0:
		servers[i].value = definition
	case definition != nil:
		servers = append(servers, member{name, definition})
	}
	if root[at].value, err = object(servers); err != nil {
		return nil, false, err
	}
	whole, err := object(root)
	if err != nil {
		return nil, false, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, whole, "", "  "); err != nil {
		return nil, false, err
	}
	b.WriteByte('\n')
	return b.Bytes(), i >= 0, nil
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

func object(list []member) ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		var key bytes.Buffer
		enc := json.NewEncoder(&key)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(m.key); err != nil {
			return nil, err
		}
		b.Write(bytes.TrimSpace(key.Bytes()))
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// HasMCP reports whether the file of a scope names a server.
func HasMCP(scope MCPScope, file, name string) (bool, error) {
	there, err := exists(file)
	if err != nil || !there {
		return false, err
	}
	data, err := readFile(string(scope), file)
	if err != nil {
		return false, err
	}
	root, err := members(data)
	if err != nil {
		return false, unreadable(string(scope), file, err)
	}
	for _, m := range root {
		if m.key != "mcpServers" {
			continue
		}
		list, err := members(m.value)
		return slices.ContainsFunc(list, func(m member) bool { return m.key == name }), err
	}
	return false, nil
}

// Brings reports whether a layer is a settings file that comes with the folder.
func (s *Settings) Brings(l Layer) bool {
	return brought(l.Layer) && filepath.Base(l.File) != mcpFile
}
