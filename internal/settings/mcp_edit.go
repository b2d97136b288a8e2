package settings

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
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
	e := fileEdit{layer: layer, file: file, mode: 0o600, check: func(src source) error { return refuse(decode(src).problems) }}
	if scope == MCPProject { // everybody who works on the project reads it
		e.mode, e.mayRepair = 0o644, true
		e.check = func(src source) error { return refuse(decodeMCP(src, false).problems) }
	}
	_, err = e.do(func(root []member) ([]member, error) {
		servers, err := object(root, "mcpServers")
		if err != nil {
			return nil, err
		}
		replaced = slices.ContainsFunc(servers, func(m member) bool { return m.key == name })
		if definition == nil && !replaced {
			return nil, nil
		}
		return put(root, "mcpServers", joined(put(servers, name, definition))), nil
	})
	return replaced, err
}

// usableMCP judges a definition by itself: what is wrong with it stands in no file.
func usableMCP(layer string, name string, definition json.RawMessage) error {
	alone := joined([]member{{"mcpServers", joined([]member{{name, definition}})}})
	if _, err := parse(alone); !json.Valid(definition) || err != nil {
		return &Error{Problems: []Problem{{
			Layer: layer, Detail: fmt.Sprintf("the definition of %q is no JSON", name), Hint: `write an object such as {"command": "some-server", "args": ["."]}`, Fatal: true,
		}}}
	}
	return refuse(decodeMCP(source{layer: layer, data: alone}, false).problems)
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
	servers, err := object(root, "mcpServers")
	return slices.ContainsFunc(servers, func(m member) bool { return m.key == name }), err
}
