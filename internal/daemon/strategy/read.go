package strategy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/yamltree"
)

// maxSize is the maximum size of a strategy file, and of a prompt file.
const maxSize = 1 << 20

// Parse reads a strategy. The name appears in errors. Its extension determines the language (.yaml,
// .yml or .json). For other extensions, the language is JSON if the text begins with a brace, and
// YAML if not. Errors are *[Error], which wraps [ErrInvalid] and has a line and a path of keys.
// Only [Load] supports system prompts in separate files.
func Parse(name string, b []byte) (*Strategy, error) {
	return parse(name, b, func(string) (string, error) {
		return "", errors.New("only a strategy that is read from a file can have its prompts in files")
	})
}

// Load reads a file of at most 1 MiB like [Parse]. If the file has no agents and no flow, errors do
// not quote its content. If a system prompt names a file ("./writer.md"), the file must be in the
// folder of the strategy. Errors of the file system are returned as package os returns them.
func Load(path string) (*Strategy, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("strategy: %w", err)
	}
	root, err := os.OpenRoot(filepath.Dir(abs))
	if err != nil {
		return nil, fmt.Errorf("strategy: %w", err)
	}
	defer root.Close()
	// The file itself may be a link to any place, because the user named it.
	b, err := readFile(abs, os.Stat, func(p string) (fs.File, error) { return os.Open(p) })
	if err != nil {
		return nil, fmt.Errorf("strategy: %w", err)
	}
	s, err := parse(path, b, func(prompt string) (string, error) {
		b, err := readFile(prompt, root.Stat, func(p string) (fs.File, error) { return root.Open(p) })
		return string(b), err
	})
	if err != nil {
		return nil, redactError(path, b, err)
	}
	s.Path = abs
	return s, nil
}

// redactError removes the content of a file from an error if the file is clearly not a strategy:
// the user who names a file may not be allowed to read it.
func redactError(path string, b []byte, err error) error {
	if bytes.Contains(b, []byte("agents")) && bytes.Contains(b, []byte("flow")) {
		return err
	}
	return &Error{File: path, Detail: "not a strategy: agents and flow are missing", Do: "a strategy has a name, a version, agents and a flow"}
}

func readFile(path string, stat func(string) (fs.FileInfo, error), open func(string) (fs.File, error)) ([]byte, error) {
	info, err := stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err == nil && len(b) > maxSize {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("larger than %d bytes", maxSize)}
	}
	return b, err
}

func parse(name string, b []byte, file func(string) (string, error)) (*Strategy, error) {
	d := &decoder{name: name, source: b, file: file}
	if len(b) > maxSize {
		return nil, &Error{File: name, Detail: fmt.Sprintf("larger than %d bytes", maxSize)}
	}
	root, err := read(name, b)
	if err != nil {
		return nil, d.unreadable(err)
	}
	s := d.strategy(&root)
	if d.err != nil {
		return nil, d.err
	}
	s.Source = s.source()
	return s, nil
}

func read(name string, b []byte) (jsontree.Node, error) {
	switch strings.ToLower(filepath.Ext(name)) {
	case ".yaml", ".yml":
		return yamltree.Parse(b)
	case ".json":
		return jsontree.Parse(b)
	}
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		return jsontree.Parse(b)
	}
	return yamltree.Parse(b)
}

func (d *decoder) unreadable(err error) *Error {
	e := &Error{File: d.name, Detail: err.Error()}
	at := -1
	if f, ok := errors.AsType[*yamltree.Error](err); ok {
		at, e.Do = f.Offset, f.Hint
	} else if j, ok := errors.AsType[*jsontree.Error](err); ok {
		at, e.Do = j.Offset, j.Hint
		if e.Do == "" && bytes.HasPrefix(bytes.TrimLeft(d.source[min(j.Offset, len(d.source)):], " \t"), []byte("/")) {
			e.Do = "remove the comments, or use YAML: JSON has no comments"
		}
	}
	d.setPosition(e, at)
	return e
}

// setPosition computes the line and the column of an offset, and sets them.
func (d *decoder) setPosition(e *Error, at int) {
	if at < 0 || at > len(d.source) {
		return
	}
	before := d.source[:at]
	e.Line = 1 + bytes.Count(before, []byte("\n"))
	e.Column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}
