package settings

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
)

// MCPScope is the location that [EditMCP] writes a server to.
type MCPScope string

// The scopes, as `claude mcp add` names them.
const (
	MCPLocal   MCPScope = "local"   // settings.local.json of the project: for you in this project
	MCPProject MCPScope = "project" // .mcp.json: for everyone who works on the project
	MCPUser    MCPScope = "user"    // your user settings: for every project
)

// MCPScopeFile returns the file of a scope, for a project and HOLDFAST_HOME.
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

// EditMCP writes the definition of a server into the file of a scope, or removes it if the
// definition is nil; the rest of the file is kept. It reports whether the name existed before. If
// the definition is invalid, nothing is written and the error is an *[Error] without a file name.
// If the file cannot be read, the *[Error] has the position in the file.
func EditMCP(scope MCPScope, file, name string, definition json.RawMessage) (replaced bool, err error) {
	layer := string(scope)
	if definition != nil {
		if err := usableMCP(layer, name, definition); err != nil {
			return false, err
		}
	}
	e := fileEdit{layer: layer, file: file, mode: 0o600, check: func(src source) error { return fatalError(decode(src).problems) }}
	if scope == MCPProject { // the file is shared with everyone who works on the project
		e.mode, e.mayRepair = 0o644, true
		e.check = func(src source) error { return fatalError(decodeMCP(src, false).problems) }
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

// usableMCP checks a definition by itself; its problems have no file.
func usableMCP(layer string, name string, definition json.RawMessage) error {
	alone := joined([]member{{"mcpServers", joined([]member{{name, definition}})}})
	if _, err := parse(alone); !json.Valid(definition) || err != nil {
		return &Error{Problems: []Problem{{
			Layer: layer, Detail: fmt.Sprintf("the definition of %q is not JSON", name), Hint: `write an object such as {"command": "some-server", "args": ["."]}`, Fatal: true,
		}}}
	}
	return fatalError(decodeMCP(source{layer: layer, data: alone}, false).problems)
}

// HasMCP reports whether the file of a scope has a server.
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
