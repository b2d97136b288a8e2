package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/jsonlines"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/policycheck"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

func (c *checkCmd) Run(ctx context.Context, p *command.Program) error {
	s, err := c.Load(p, len(c.Settings) > 0)
	if err != nil {
		return err
	}
	p.SettingsNotices(s)
	b := &checkBatch{judge: newJudge(p, s)}
	if _, err := b.judge.Guards("", ""); err != nil {
		return err
	}
	if err := b.run(ctx, p, c.Batch); err != nil {
		return err
	}
	if b.bad > 0 {
		return &outcome.Failure{
			Message: fmt.Sprintf("%s of %d are invalid and were denied; first: line %d", term.Count(b.bad, "line"), b.lines, b.firstError),
			Result:  outcome.Usage, Advice: `use lines such as {"id": 1, "tool": "Bash", "input": {"command": "ls"}, "cwd": "/w", "mode": "default"}`,
		}
	}
	return nil
}

// checkBatch decides about the calls in its input, which has one JSON object per line.
type checkBatch struct {
	judge *policycheck.Judge

	lines, bad, firstError int
}

// run answers the lines of a file, or of standard input for "-". It flushes its output when no
// further line is waiting, so that a program that sends lines through a pipe can wait for each
// answer.
func (b *checkBatch) run(ctx context.Context, p *command.Program, name string) error {
	in := p.Input(ctx)
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return outcome.Invalid(err.Error(), "name a file of JSON lines, or - for standard input")
		}
		defer f.Close()
		in = f
	}
	defer debug.SetGCPercent(debug.SetGCPercent(command.StartupGCPercent)) // nearly the whole heap is garbage, because the batch keeps no data between lines
	lines := jsonlines.New(in)
	var out []byte
	for {
		line, err := lines.Next()
		if err != nil && !errors.Is(err, jsonlines.ErrLong) {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, p.Out.Bytes(out))
		}
		out = b.line(ctx, out, lines.Number, line, err)
		if lines.Idle() || len(out) > 64<<10 {
			if err := p.Out.Bytes(out); err != nil {
				return fmt.Errorf("write output: %w", err)
			}
			out = out[:0]
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
	}
}

// line answers one line.
func (b *checkBatch) line(ctx context.Context, out []byte, n int, line []byte, bad error) []byte {
	b.lines++
	var c checkCall
	var d policy.Decision
	err := bad
	if err == nil {
		err = c.read(line)
	}
	if err == nil {
		d, err = b.decide(ctx, &c)
	}
	if err != nil {
		if b.bad++; b.bad == 1 {
			b.firstError = n
		}
		d = policy.Decision{Effect: policy.Deny, By: "input", Reason: fmt.Sprintf("line %d: %v", n, err)}
	}
	return appendVerdict(out, c.id, &d)
}

// checkCall is one line.
type checkCall struct {
	id   []byte // the id, as it is written in the input
	cwd  string
	mode policy.Mode
	policycheck.Call
}

func (b *checkBatch) decide(ctx context.Context, c *checkCall) (policy.Decision, error) {
	g, err := b.judge.Guards(c.cwd, c.mode)
	if err != nil {
		return policy.Decision{}, err
	}
	d, _, err := b.judge.Decide(ctx, g, c.Call)
	return d, err
}

// read parses a line. For an invalid line the id is kept if it can be read.
func (c *checkCall) read(line []byte) error {
	if err := jsontree.Members(line, c.set); err != nil {
		_ = jsontree.Members(line, func(key string, value []byte) error { // err describes what is wrong with the line
			if key != "id" {
				return nil
			}
			return c.set(key, value)
		})
		return err
	}
	if c.Tool == "" {
		return errors.New("tool is missing")
	}
	return nil
}

func (c *checkCall) set(key string, value []byte) error {
	switch key {
	case "id":
		if value[0] == '{' || value[0] == '[' {
			return errors.New("must be a string or a number")
		}
		c.id = value
		return nil
	case "input":
		if value[0] != '{' {
			return errors.New("must be an object")
		}
		c.Input = value
		return nil
	}
	into := map[string]*string{"tool": &c.Tool, "cwd": &c.cwd, "mode": (*string)(&c.mode)}[key]
	if into == nil {
		return errors.New("unknown field; want id, tool, input, cwd or mode")
	}
	text, err := jsontree.Unquote(value)
	switch {
	case err != nil:
		return err
	case text == "":
		return errors.New("must not be empty")
	}
	if *into = text; key == "mode" {
		err = policy.Mode(text).Check()
	}
	return err
}

// appendVerdict appends an object with the fields id, verdict, reason, by and trace, and a newline.
func appendVerdict(b, id []byte, d *policy.Decision) []byte {
	b = append(b, '{')
	if id != nil {
		b = append(b, `"id":`...)
		b = append(append(b, escapeID(id)...), ',')
	}
	b = append(b, `"verdict":`...)
	b = appendText(b, string(d.Effect))
	b = append(b, `,"reason":`...)
	b = appendText(b, d.Reason)
	b = append(b, `,"by":`...)
	b = appendText(b, d.By)
	b = append(b, `,"trace":[`...)
	for i := range d.Contributions {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendContribution(b, &d.Contributions[i])
	}
	return append(b, "]}\n"...)
}

// appendContribution appends one link's contribution, as encoding/json encodes it.
func appendContribution(b []byte, s *policy.Contribution) []byte {
	b = append(b, `{"policy":`...)
	b = appendText(b, s.Policy)
	b = appendField(b, "resource", s.Resource)
	b = appendField(b, "effect", string(s.Effect))
	b = appendField(b, "reason", s.Reason)
	if r := s.Rule; r != nil {
		b = append(b, `,"rule":{"rule":`...)
		b = appendText(b, r.Rule)
		b = appendField(b, "layer", r.Layer)
		b = appendField(b, "file", r.File)
		if r.Line > 0 {
			b = strconv.AppendInt(append(b, `,"line":`...), int64(r.Line), 10)
			b = strconv.AppendInt(append(b, `,"col":`...), int64(r.Col), 10)
		}
		b = append(b, '}')
	}
	return append(b, '}')
}

func appendField(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(b, ',', '"')
	b = append(b, name...)
	b = append(b, '"', ':')
	return appendText(b, value)
}

// escapeID returns an id as it is written in the input, except that terminal control characters are
// escaped.
func escapeID(id []byte) []byte {
	for _, c := range id {
		if c < ' ' || c > '~' {
			return term.EscapeJSON(string(id))
		}
	}
	return id
}

// appendText appends a JSON string, with terminal control characters escaped.
func appendText(b []byte, s string) []byte {
	start := len(b)
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ' || c > '~':
			text, err := term.MarshalJSON(s, false)
			if err != nil { // encoding a string cannot fail
				return strconv.AppendQuoteToASCII(b[:start], s)
			}
			return append(b[:start], text...)
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
