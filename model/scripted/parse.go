package scripted

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// positionError is an error in a script, with its position.
type positionError struct {
	Line, Column int // from 1; 0 if unknown
	Message      string
}

func (e *positionError) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("%d:%d: %s", e.Line, e.Column, e.Message)
}

// parse parses a script. Errors are a [positionError].
func parse(b []byte) (scriptFile, error) {
	file, err := parser.ParseBytes(b, 0)
	if err != nil {
		return scriptFile{}, syntaxError(err)
	}
	switch {
	case len(file.Docs) > 1:
		return scriptFile{}, &positionError{Message: fmt.Sprintf("the file has %d documents; a script is a single document", len(file.Docs))}
	case len(file.Docs) == 0 || file.Docs[0].Body == nil:
		return scriptFile{}, &positionError{Message: "the file is empty"}
	}
	if err := checkDurations(file.Docs[0].Body); err != nil {
		return scriptFile{}, err
	}
	var p scriptFile
	if err := yaml.NodeToValue(file.Docs[0].Body, &p, yaml.Strict(), yaml.UseOrderedMap()); err != nil {
		return scriptFile{}, syntaxError(err)
	}
	if _, f := compile(p); f != nil {
		e := &positionError{Message: f.Error()}
		e.Line, e.Column = position(file, f.path)
		return scriptFile{}, e
	}
	return p, nil
}

// checkDurations rejects durations without a unit, which the decoder would read as nanoseconds. For
// invalid durations it returns the position, which the decoder would not return.
func checkDurations(doc ast.Node) error {
	c := durationCheck{}
	ast.Walk(&c, doc)
	if c.fault != nil {
		return c.fault
	}
	return nil
}

type durationCheck struct {
	inDelay bool
	fault   *positionError
}

func (c *durationCheck) Visit(n ast.Node) ast.Visitor {
	pair, ok := n.(*ast.MappingValueNode)
	if !ok || c.fault != nil {
		return c
	}
	key := pair.Key.GetToken().Value
	switch {
	case key == "delay":
		inner := &durationCheck{inDelay: true}
		ast.Walk(inner, pair.Value)
		c.fault = inner.fault
		return nil
	case key == "input": // the input is interpreted by the tool
		return nil
	case key == "retry_after", c.inDelay && (key == "before" || key == "chunk"):
		t := pair.Value.GetToken()
		if _, err := time.ParseDuration(t.Value); err != nil && pair.Value.Type() != ast.AliasType {
			c.fault = &positionError{
				Line: t.Position.Line, Column: t.Position.Column,
				Message: fmt.Sprintf("%s: %q is not a duration such as 200ms or 1.5s", key, t.Value),
			}
		}
	}
	return c
}

func syntaxError(err error) *positionError {
	e := &positionError{Message: err.Error()}
	if ye, ok := errors.AsType[yaml.Error](err); ok {
		e.Message = ye.GetMessage()
		if t := ye.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column = t.Position.Line, t.Position.Column
		}
	}
	return e
}

// position returns the position of the node at path, or of its nearest parent that exists.
func position(file *ast.File, path []string) (line, column int) {
	for n := len(path); n >= 0; n-- {
		var at strings.Builder
		at.WriteString("$")
		for _, name := range path[:n] {
			at.WriteString(name)
		}
		p, err := yaml.PathString(at.String())
		if err != nil {
			continue
		}
		if node, err := p.FilterFile(file); err == nil && node != nil && node.GetToken() != nil {
			return node.GetToken().Position.Line, node.GetToken().Position.Column
		}
	}
	return 0, 0
}
