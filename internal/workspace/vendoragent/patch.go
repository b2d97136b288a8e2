package vendoragent

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/holdfast-dev/holdfast/policy"
)

// patch returns the requests for a change to several files: one for each file, and one for the
// target of each move.
func (p PathMap) patch(f fields) ([]policy.Request, error) {
	var changes []fields
	if err := json.Unmarshal(f["changes"], &changes); err != nil || len(changes) == 0 {
		return nil, errors.New("changes: want a list of changes")
	}
	var out []policy.Request
	for i, c := range changes {
		kind, err := c.text("kind")
		if err != nil {
			return nil, fmt.Errorf("changes[%d]: %w", i, err)
		}
		shown := c.display("diff")
		switch kind {
		case "add":
			shown = added(shown)
		case "delete":
			shown = removed(shown)
		}
		names := []string{"path"}
		if _, moved := c["move_to"]; moved {
			names = append(names, "move_to")
		}
		for _, name := range names {
			if path, err := c.text(name); err == nil && path == "" {
				return nil, fmt.Errorf("changes[%d]: %s must not be empty", i, name)
			}
			r, err := p.file(policy.OpWrite, c, name, shown)
			if err != nil {
				return nil, fmt.Errorf("changes[%d]: %w", i, err)
			}
			out = append(out, r...)
		}
	}
	return out, nil
}

// folder returns the folder in the container in which the command of a tool use runs.
func (p PathMap) folder(f fields) (string, error) {
	cwd, err := f.text("cwd")
	switch {
	case err != nil:
		return "", err
	case cwd == "":
		return p.Work, nil
	case !strings.HasPrefix(cwd, "/") || strings.ContainsRune(cwd, 0):
		return "", errors.New("cwd: want an absolute path")
	}
	return cwd, nil
}
