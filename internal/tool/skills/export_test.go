package skills

import (
	"errors"
	"path/filepath"
)

const MaxBody = maxBody

// Parse reads a SKILL.md. The name must be that of its folder. The error is a [Problem]
// when the file cannot be used.
func Parse(path string, b []byte) (*Skill, error) {
	sk, err := parse(Location{Dir: filepath.Dir(filepath.Dir(path)), Source: User}, path, b)
	if e, ok := errors.AsType[*problem](err); ok {
		return nil, Problem{File: path, Line: e.line, Column: e.column, Detail: e.what, Hint: e.hint, Source: User}
	}
	return sk, err
}
