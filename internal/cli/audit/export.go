package audit

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

func (c *exportCmd) Run(ctx context.Context, p *command.Program) error {
	if c.All && (c.Session != "" || c.Access) {
		return outcome.Invalid("name a session, or use --all or --access", "")
	}
	o, err := c.options(p.Clock())
	if err != nil {
		return err
	}
	logs, done, err := c.logs(ctx, p)
	if err != nil {
		return err
	}
	defer done()
	n := 0
	entries := func(yield func(audit.Entry, error) bool) {
		for _, l := range logs {
			for e, err := range audit.Read(ctx, l.in, l.id, o) {
				if err == nil {
					n++
				}
				if !yield(e, err) {
					return
				}
			}
		}
	}
	if c.Output == "" {
		return audit.Export(exportOutput(p, c.Format), c.Format, entries)
	}
	name, err := c.write(ctx, p, logs, entries)
	if err != nil {
		return err
	}
	if c.JSON {
		return p.Out.JSON(exportResult{name, c.Format, n}, false)
	}
	p.Err.Line("%s in %s", entryCount(n), term.Escape(name))
	return nil
}

// exportedLog is one log to export.
type exportedLog struct {
	in   *session.Sessions
	id   string
	meta *session.Meta // nil if this is the access log
}

// logs returns the logs to export.
func (c *exportCmd) logs(ctx context.Context, p *command.Program) (list []exportedLog, done func(), err error) {
	access, err := c.accesses(c.Access, c.Session)
	if err != nil {
		return nil, nil, err
	}
	var closers []func()
	all := func() {
		for _, end := range closers {
			end()
		}
	}
	defer func() {
		if err != nil {
			all()
		}
	}()
	if access || c.All {
		s, _, end, err := stores.OpenAccess(p.Environment())
		if err == nil {
			closers, list = append(closers, end), append(list, exportedLog{s, audit.AccessID, nil})
		}
		if access || err != nil && !errors.Is(err, session.ErrNotFound) {
			return list, all, err
		}
	}
	sessions, end, err := p.OpenStore(ctx, c.Store)
	if err != nil {
		return nil, nil, err
	}
	closers = append(closers, end)
	var metas []session.Meta
	if c.All {
		metas, err = audit.OldestFirst(ctx, sessions)
	} else {
		metas = make([]session.Meta, 1)
		metas[0], err = findSession(ctx, sessions, c.Session)
	}
	if err != nil {
		return nil, nil, err
	}
	local := make([]exportedLog, len(metas), len(metas)+len(list))
	for i, m := range metas {
		local[i] = exportedLog{sessions, m.ID, &m}
	}
	return append(local, list...), all, nil
}

type exportResult struct {
	File    string `json:"file"`
	Format  string `json:"format"`
	Entries int    `json:"entries"`
}

func entryCount(n int) string {
	if n == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", n)
}

// write writes a file and records which sessions it contains. The access log contains no session
// text.
func (c *exportCmd) write(ctx context.Context, p *command.Program, logs []exportedLog, entries iter.Seq2[audit.Entry, error]) (string, error) {
	return command.WriteFile(p, c.Output, "", func(w io.Writer) (damaged, err error) {
		return nil, audit.Export(w, c.Format, entries)
	}, func(path, sum string) error {
		var of []session.Meta
		for _, l := range logs {
			if l.meta != nil {
				of = append(of, *l.meta)
			}
		}
		if of == nil {
			return nil
		}
		return stores.NoteExport(ctx, p.Environment(), c.Store, logs[0].in, of, path, sum, true)
	})
}

// exportOutput returns the output stream. On a terminal, it escapes control characters.
func exportOutput(p *command.Program, format string) io.Writer {
	if !p.Out.TTY {
		return p.Stdout
	}
	return &escapingWriter{p: p.Out, json: format != audit.FormatCSV && format != audit.FormatHTML}
}

// escapingWriter escapes control characters in whole lines for a terminal.
type escapingWriter struct {
	p    *term.Printer
	json bool
	rest []byte
}

func (h *escapingWriter) Write(b []byte) (int, error) {
	h.rest = append(h.rest, b...)
	for {
		line, rest, ok := bytes.Cut(h.rest, []byte("\n"))
		if !ok {
			return len(b), nil
		}
		h.rest = rest
		text := []byte(term.Escape(string(line)))
		if h.json {
			text = term.EscapeJSON(string(line))
		}
		if err := h.p.Bytes(append(text, '\n')); err != nil {
			return 0, err
		}
	}
}
