package sessions

import (
	"bytes"
	"context"
	"errors"
	"io"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/session/convert"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

func (c *exportCmd) Run(ctx context.Context, p *command.Program) error {
	format := convert.Format(c.Format)
	if c.JSON && format != convert.JSONL {
		return outcome.Invalid("--json and --format "+c.Format+" cannot be used together", "")
	}
	return c.WithSession(ctx, p, c.Store, func(s *session.Sessions, m session.Meta) error {
		if c.Output != "" && c.Output != "-" {
			return c.toFile(ctx, p, s, m, format)
		}
		w := &outWriter{p: p.Out, lines: p.Out.TTY && format != convert.Text && format != convert.Markdown}
		return errors.Join(convert.Export(ctx, w, s, m.ID, format), w.flush())
	})
}

// toFile writes a file. Damaged content is reported after the rest was written.
func (c *exportCmd) toFile(ctx context.Context, p *command.Program, s *session.Sessions, m session.Meta, format convert.Format) error {
	path, err := command.WriteFile(p, c.Output, exportName(m, format), func(w io.Writer) (damaged, err error) {
		if err = convert.Export(ctx, w, s, m.ID, format); errors.Is(err, session.ErrCorrupt) {
			return err, nil
		}
		return nil, err
	}, func(path, sum string) error {
		return stores.NoteExport(ctx, p.Environment(), c.Store, s, []session.Meta{m}, path, sum, false)
	})
	if path != "" {
		p.Err.Line("%s", term.Escape("session "+m.ID+" was written to "+path))
	}
	return err
}

// exportName returns the name for the exported file. It is the name that programs which read the
// format expect.
func exportName(m session.Meta, f convert.Format) string {
	switch f {
	case convert.Claude:
		return convert.ClaudeID(m.ID) + ".jsonl"
	case convert.Codex:
		return "rollout-" + m.CreatedAt.UTC().Format("2006-01-02T15-04-05") + "-" + convert.ClaudeID(m.ID) + ".jsonl"
	case convert.OpenAgentSDK:
		return "transcript.json"
	case convert.Markdown:
		return m.ID + ".md"
	case convert.HTML:
		return m.ID + ".html"
	case convert.Text:
		return m.ID + ".txt"
	}
	return m.ID + ".jsonl"
}

// outWriter writes to the output. If lines is true, it writes control characters for a terminal as
// escapes, which mean the same in JSON.
type outWriter struct {
	p     *term.Printer
	lines bool
	rest  []byte
}

var _ io.Writer = (*outWriter)(nil)

func (w *outWriter) Write(b []byte) (int, error) {
	if !w.lines {
		return len(b), w.p.Bytes(b)
	}
	w.rest = append(w.rest, b...)
	i := bytes.LastIndexByte(w.rest, '\n')
	if i < 0 {
		return len(b), nil
	}
	err := w.writeLines(w.rest[:i+1])
	w.rest = append(w.rest[:0], w.rest[i+1:]...)
	return len(b), err
}

func (w *outWriter) flush() error {
	err := w.writeLines(w.rest)
	w.rest = nil
	return err
}

// writeLines writes whole lines.
func (w *outWriter) writeLines(b []byte) error {
	for line := range bytes.Lines(b) {
		text, ended := bytes.CutSuffix(line, []byte{'\n'})
		out := term.EscapeJSON(string(text))
		if ended {
			out = append(out, '\n')
		}
		if err := w.p.Bytes(out); err != nil {
			return err
		}
	}
	return nil
}
