package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/jsonlines"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// batchAnswer is the answer to one line of the batch.
type batchAnswer struct {
	ID       json.RawMessage `json:"id,omitempty"`
	Decision string          `json:"decision"` // allow or deny
	Reason   string          `json:"reason,omitempty"`
	Setting  string          `json:"setting,omitempty"`
	Rule     string          `json:"rule,omitempty"`
}

// batch answers line by line. An invalid line is denied; the exit code reports this at the end.
func (c *checkCmd) batch(ctx context.Context, p *command.Program, cwd string) error {
	in := p.Input(ctx)
	if c.Batch != "-" {
		f, err := os.Open(c.Batch)
		if err != nil {
			return outcome.Invalid(err.Error(), "name a file of JSON lines, or - for standard input")
		}
		defer f.Close()
		in = f
	}
	b := batch{p: p, cwd: cwd, compiled: map[string]compiledEntry{}}
	if c.Settings != "" {
		list, err := compileGiven(p, c.Settings, cwd)
		if err != nil {
			return err
		}
		b.given = list
	}
	b.encoder = json.NewEncoder(&b.buffer)
	b.encoder.SetEscapeHTML(false)
	lines := jsonlines.New(in)
	bad := 0
	for {
		line, err := lines.Next()
		if err != nil && !errors.Is(err, jsonlines.ErrLong) {
			b.flush()
			if !errors.Is(err, io.EOF) {
				return fmt.Errorf("read the batch: %w", err)
			}
			break
		}
		answer, err := b.answer(line, err)
		if err != nil {
			bad++
			answer = batchAnswer{ID: answer.ID, Decision: "deny", Reason: fmt.Sprintf("line %d: %v", lines.Number, err)}
		}
		if err := b.encoder.Encode(answer); err != nil {
			return err
		}
		if lines.Idle() || b.buffer.Len() > 64<<10 {
			b.flush()
			if err := ctx.Err(); err != nil {
				return err
			}
		}
	}
	if bad > 0 {
		p.Warn("%s could not be parsed and %s denied", term.Count(bad, "line"), map[bool]string{true: "was", false: "were"}[bad == 1])
		return command.End(outcome.Usage)
	}
	return nil
}

// batch has the data that is the same for all lines.
type batch struct {
	p        *command.Program
	cwd      string
	given    []compiledSettings
	compiled map[string]compiledEntry // by the JSON of a line's own settings
	buffer   bytes.Buffer
	encoder  *json.Encoder
}

type compiledEntry struct {
	list []compiledSettings
	err  error
}

// maxCompiled is the maximum number of different settings that a batch keeps in compiled form.
const maxCompiled = 1024

func (b *batch) flush() {
	b.p.Out.Text(string(term.EscapeJSON(b.buffer.String())))
	b.buffer.Reset()
}

type batchLine struct {
	command, path, op, cwd *string
	settings               []byte
}

// answer decides one line. If there is an error, the result still has the id of the line.
func (b *batch) answer(line []byte, err error) (batchAnswer, error) {
	var a batchAnswer
	if err != nil {
		return a, err
	}
	var l batchLine
	if err := jsontree.Members(line, func(key string, value []byte) error { return l.set(&a, key, value) }); err != nil {
		_ = jsontree.Members(line, func(key string, value []byte) error { // err describes what is wrong with the line
			if key == "id" && a.ID == nil {
				return l.set(&a, key, value)
			}
			return nil
		})
		return a, err
	}
	list, err := b.settingsOf(l.settings)
	if err != nil {
		return a, err
	}
	cwd := b.cwd
	if l.cwd != nil {
		cwd = *l.cwd
	}
	check, err := l.check(cwd)
	if err != nil {
		return a, err
	}
	a.Decision = "allow"
	if _, err := checkLayers(list, check); err != nil {
		a.Decision, a.Reason = "deny", err.Error()
		if d, ok := errors.AsType[*sandbox.Denial](err); ok {
			a.Reason, a.Setting, a.Rule = d.Reason, d.Setting, d.Rule
		}
	}
	return a, nil
}

func (l *batchLine) set(a *batchAnswer, key string, value []byte) error {
	into := map[string]**string{"command": &l.command, "path": &l.path, "op": &l.op, "cwd": &l.cwd}[key]
	switch {
	case into != nil:
		text, err := jsontree.Unquote(value)
		*into = &text
		return err
	case key == "settings":
		l.settings = value
		return nil
	case key == "id":
		if value[0] == '{' || value[0] == '[' {
			return errors.New("must be a string or a number")
		}
		a.ID = bytes.Clone(value)
		return nil
	}
	return errors.New("unknown field; want id, settings, cwd, command, path or op")
}

func (l *batchLine) check(cwd string) (func(*sandbox.Checker) error, error) {
	switch {
	case l.command != nil && l.path == nil && l.op == nil:
		return func(c *sandbox.Checker) error { return c.CheckConfined(*l.command, cwd) }, nil
	case l.command != nil || l.path == nil || l.op == nil:
		return nil, errors.New("command, or path and op, is missing")
	}
	op, ok := map[string]policy.Operation{"read": policy.OpRead, "write": policy.OpWrite}[*l.op]
	if !ok {
		return nil, fmt.Errorf("op is %q; want read or write", *l.op)
	}
	return func(c *sandbox.Checker) error { return c.CheckPath(*l.path, cwd, op) }, nil
}

// settingsOf returns the sandbox settings for a line. These are the settings in the line, or else
// those of the command line.
func (b *batch) settingsOf(settingsJSON []byte) ([]compiledSettings, error) {
	if settingsJSON == nil {
		if b.given == nil {
			return nil, errors.New("the line has no settings, and --settings is not given")
		}
		return b.given, nil
	}
	if got, ok := b.compiled[string(settingsJSON)]; ok {
		return got.list, got.err
	}
	var c compiledEntry
	one, err := readCompiled(b.p, settingsJSON, "--settings", b.cwd)
	if c.err = err; err == nil {
		c.list = []compiledSettings{one}
	} else {
		c.err = fmt.Errorf("settings: %w", err)
	}
	if len(b.compiled) >= maxCompiled {
		clear(b.compiled)
	}
	b.compiled[string(settingsJSON)] = c
	return c.list, c.err
}
