package convert

import (
	"bufio"
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Export writes a session to w.
//
//   - JSONL: every record unchanged, including the parents' records of a fork. Damaged records are
//     left out; the first such error is returned after the rest is written.
//   - Text, Markdown, HTML: the transcript in a readable form.
//   - Claude, Codex, OpenAgentSDK: if the session was imported from this format and its
//     transcript was not rewritten since, the original lines, byte for byte, followed by
//     what was added since; otherwise the transcript in this format.
//
// It returns ErrNotFound if there is no such session, and ErrInvalid for a format that cannot be
// written.
func Export(ctx context.Context, w io.Writer, from *session.Sessions, id string, f Format) error {
	m, err := from.Get(ctx, id)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 64<<10)
	x := &exporter{ctx: ctx, from: from, m: m, w: b}
	switch f {
	case JSONL:
		err = x.writeRecords()
	case Text, Markdown, HTML:
		err = x.writeReadable(f)
	case Claude, Codex, OpenAgentSDK:
		err = x.writeVendor(f)
	default:
		return &session.Error{Op: "export", Session: id, Err: session.ErrInvalid, Detail: fmt.Sprintf("cannot export to format %q", f), Hint: "use one of " + join(exportableFormats())}
	}
	if ferr := b.Flush(); ferr != nil {
		return ferr
	}
	return err
}

type exporter struct {
	ctx  context.Context
	from *session.Sessions
	m    session.Meta
	w    *bufio.Writer
}

func (x *exporter) writeRecords() error {
	var (
		bad  error
		line []byte
	)
	for r, err := range x.from.Records(x.ctx, x.m.ID, session.Range{}) {
		switch {
		case err != nil && !errors.Is(err, session.ErrCorrupt):
			return err
		case err != nil: // the rest of the session is still useful
			if bad == nil {
				bad = err
			}
			continue
		}
		line = append(appendRecord(line[:0], &r), '\n')
		if _, err := x.w.Write(line); err != nil {
			return err
		}
	}
	return bad
}

func (x *exporter) writeReadable(f Format) error {
	loaded, err := x.from.Load(x.ctx, x.m.ID, nil)
	if err != nil {
		return err
	}
	switch f {
	case Markdown:
		return writeMarkdown(x.w, loaded)
	case HTML:
		return writeHTML(x.w, loaded)
	}
	_, err = x.w.WriteString(history.Render(loaded.Items, history.RenderOptions{MaxBytes: math.MaxInt, MaxPartBytes: math.MaxInt}))
	return err
}

// itemWriter writes another program's format. It receives the items in order.
type itemWriter interface {
	begin(m session.Meta, n int) error
	item(it transcript.Item) error
	end() error
}

func (x *exporter) itemWriter(f Format, last originalLine) itemWriter {
	switch f {
	case Claude:
		return newClaudeWriter(x.w, x.m, last.raw)
	case Codex:
		return &codexWriter{w: x.w, m: x.m, on: last.raw != nil}
	}
	return &openAgentWriter{w: x.w}
}

func (x *exporter) writeVendor(f Format) error {
	o, err := x.origin(f)
	if err != nil {
		return err
	}
	if !o.same || f == OpenAgentSDK && o.added {
		return x.writeAll(f)
	}
	last, err := x.writeOriginals(f, &o)
	if err != nil || !o.added {
		return err
	}
	return x.writeAdded(f, last)
}

// origin describes how much of a session is unchanged since the import.
type origin struct {
	same  bool          // all of it was imported from the format or added since
	added bool          // something was added since
	m     vendorMapping // the last mapping
}

// origin searches the log for the imports.
func (x *exporter) origin(f Format) (o origin, err error) {
	if x.m.Parent != "" {
		return o, nil
	}
	for r, err := range x.from.Store().Read(x.ctx, x.m.ID, session.Range{}) {
		if err != nil {
			return o, err
		}
		if m, ok := readMapping(&r); ok && m.Format == f {
			o.m, o.same = m, true
		}
		switch r.Kind {
		case session.KindItem:
			o.added = o.added || originalOf(field(r.Payload, "item")) == nil
		case record.KindRewrite:
			if by := text(field(r.Payload, "by")); by != byImport && by != byBranchChange {
				return origin{}, nil
			}
		case record.KindRedacted:
			return origin{}, nil
		}
	}
	return o, nil
}

// writeOriginals writes the original lines in their order, and returns the last line that has a
// message.
func (x *exporter) writeOriginals(f Format, o *origin) (last originalLine, err error) {
	var (
		waiting lineHeap
		next    = 1
	)
	write := func(k originalLine) error {
		next = k.n + 1
		if _, err := x.w.Write(k.raw); err != nil {
			return err
		}
		if f == Claude && field(k.raw, "uuid") != nil && len(field(k.raw, "message")) > 0 || last.raw == nil {
			last = originalLine{n: k.n, raw: append([]byte(nil), k.raw...)}
		}
		if f == OpenAgentSDK || o.m.Open && k.n == o.m.Lines && !o.added {
			return nil
		}
		return x.w.WriteByte('\n')
	}
	for r, err := range x.from.Store().Read(x.ctx, x.m.ID, session.Range{}) {
		if err != nil {
			return last, err
		}
		err := originalLines(&r, f, func(k originalLine) error {
			if k.n < next {
				return nil
			}
			heap.Push(&waiting, originalLine{n: k.n, raw: append([]byte(nil), k.raw...)})
			for len(waiting) > 0 && waiting[0].n <= next {
				if k, _ := heap.Pop(&waiting).(originalLine); k.n == next {
					if err := write(k); err != nil {
						return err
					}
				}
			}
			return nil
		})
		if err != nil {
			return last, fmt.Errorf("record %d: %w", r.Seq, err)
		}
	}
	for len(waiting) > 0 { // a line in between is missing
		if k, _ := heap.Pop(&waiting).(originalLine); k.n >= next {
			if err := write(k); err != nil {
				return last, err
			}
		}
	}
	return last, nil
}

// writeAdded writes the items that were not imported.
func (x *exporter) writeAdded(f Format, last originalLine) error {
	loaded, err := x.from.Load(x.ctx, x.m.ID, nil)
	if err != nil {
		return err
	}
	w := x.itemWriter(f, last)
	for _, e := range loaded.Items {
		if originalOf(e.JSON) != nil {
			continue
		}
		it, err := e.Decode()
		if err == nil {
			err = w.item(it)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// writeAll writes the whole transcript in the format f.
func (x *exporter) writeAll(f Format) error {
	loaded, err := x.from.Load(x.ctx, x.m.ID, nil)
	if err != nil {
		return err
	}
	w := x.itemWriter(f, originalLine{})
	if err := w.begin(loaded.Meta, len(loaded.Items)); err != nil {
		return err
	}
	for _, e := range loaded.Items {
		it, err := e.Decode()
		if err == nil {
			err = w.item(it)
		}
		if err != nil {
			return err
		}
	}
	return w.end()
}

// lineHeap holds lines that were read before the lines that precede them.
type lineHeap []originalLine

func (h lineHeap) Len() int           { return len(h) }
func (h lineHeap) Less(i, j int) bool { return h[i].n < h[j].n }
func (h lineHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *lineHeap) Push(x any)        { *h = append(*h, x.(originalLine)) } //nolint:forcetypeassert // it contains nothing else
func (h *lineHeap) Pop() any {
	old := *h
	k := old[len(old)-1]
	*h = old[:len(old)-1]
	return k
}
