package audit

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
)

// Formats of [Export].
const (
	formatJSONL       = "jsonl"       // entries, one canonical JSON object per line
	FormatCSV         = "csv"         // a table with a header (RFC 4180) without formulas
	formatOCSF        = "ocsf"        // Open Cybersecurity Schema Framework 1.3 events, one per line
	formatCloudEvents = "cloudevents" // CloudEvents 1.0 in JSON, one per line
	FormatHTML        = "html"        // one self-contained page
)

// Formats lists the export formats.
func Formats() []string {
	return []string{formatJSONL, FormatCSV, formatOCSF, formatCloudEvents, FormatHTML}
}

// exporter writes one format.
type exporter interface {
	begin(w io.Writer) error
	entry(w io.Writer, e *Entry) error
	end(w io.Writer) error
}

// Export writes entries in a format. It stops if an entry cannot be read or w returns an error; the
// output is then incomplete. For an unknown format, the error lists the valid ones.
func Export(w io.Writer, format string, entries iter.Seq2[Entry, error]) error {
	x, err := newExporter(format)
	if err != nil {
		return err
	}
	out := bufio.NewWriterSize(w, 64<<10)
	if err := x.begin(out); err != nil {
		return fmt.Errorf("audit: export: %w", err)
	}
	for e, err := range entries {
		if err == nil {
			err = x.entry(out, &e)
		}
		if err != nil {
			_ = out.Flush() // err is more useful
			return fmt.Errorf("audit: export: %w", err)
		}
	}
	if err := x.end(out); err != nil {
		return fmt.Errorf("audit: export: %w", err)
	}
	if err := out.Flush(); err != nil {
		return fmt.Errorf("audit: export: %w", err)
	}
	return nil
}

func newExporter(format string) (exporter, error) {
	switch format {
	case formatJSONL:
		return objects(func(e *Entry) any { return e }), nil
	case formatOCSF:
		return objects(ocsf), nil
	case formatCloudEvents:
		return objects(cloudEvent), nil
	case FormatCSV:
		return table{}, nil
	case FormatHTML:
		return &page{}, nil
	}
	known := slices.Clone(Formats())
	return nil, fmt.Errorf("audit: export: unknown format %q; hint: use one of %s", format, strings.Join(known, ", "))
}

// objects writes one canonical JSON object for each entry.
type objects func(*Entry) any

func (objects) begin(io.Writer) error { return nil }
func (objects) end(io.Writer) error   { return nil }

func (as objects) entry(w io.Writer, e *Entry) error {
	b, err := Canonical(as(e))
	if err != nil {
		return err
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
