package convert

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/session"
)

// Source is a file that contains a session; [Find] returns them.
type Source struct {
	Path      string
	Format    Format // Auto detects the format from the content
	Size      int64  // size of the file when it was found
	ID        string // the id of the session; "" means the id in the file or, if the file has none, the name of the file
	Owner     string // the session that started the sub-agent, or ""
	Companion string // a file with more data about a sub-agent, or ""
}

// Options are the options of [Import]. The zero value works.
type Options struct {
	// Mask masks secrets in everything that is written; nil masks nothing. A masked line is
	// not exported unchanged. Holdfast's own records are never masked, because their digests
	// cover their content.
	Mask *secret.Masker
	// Trusted also imports Holdfast's own records with permissions that would take effect when
	// the session is resumed: grants, a mode, the answer to an approval request whose call did
	// not run. Without Trusted, such records cause ErrInvalid.
	Trusted bool
	// Project returns the project of a folder, or "" if it has none; nil means that no folder has a
	// project.
	Project func(cwd string) string
	// DryRun reads everything and writes nothing.
	DryRun bool
	// Clock returns the time for sessions whose source has no times; default time.Now.
	Clock func() time.Time
	// Progress receives the number of bytes read since its last call. It is called often.
	Progress func(bytes int64)
}

// Status is the result of importing a source.
type Status string

// The statuses.
const (
	Imported  Status = "imported"  // the session is new
	Continued Status = "continued" // records appended to the file since the last import were added
	Unchanged Status = "unchanged" // everything was imported before
	Skipped   Status = "skipped"   // nothing was written; a warning says why
)

// Warning is a problem in a source. Line is the line number, or 0 if the warning concerns the whole
// source. In a transcript.json it is the number of the message, counted from 2.
type Warning struct {
	File string `json:"file"`
	Line int    `json:"line,omitempty"`
	Text string `json:"text"`
}

func (w Warning) String() string {
	if w.Line == 0 {
		return w.File + ": " + w.Text
	}
	return fmt.Sprintf("%s:%d: %s", w.File, w.Line, w.Text)
}

// clockSkew is how far the clock of another machine may be ahead. A later date is wrong, and
// would permanently make the session the newest in every list.
const clockSkew = 24 * time.Hour

// maxWarnings is the maximum number of warnings for one source; Report.More counts the others.
const maxWarnings = 100

// Report is the result of [Import].
type Report struct {
	File          string    `json:"file"`
	Format        Format    `json:"format"`
	Session       string    `json:"session"`
	Status        Status    `json:"status"`
	Items         int       `json:"items"`  // items made from the source and written by this import
	Lines         int       `json:"lines"`  // read
	UnmappedLines int       `json:"aside"`  // lines that were stored without an item
	Masked        int       `json:"masked"` // lines with a masked secret
	Bytes         int64     `json:"bytes"`  // read
	Warnings      []Warning `json:"warnings,omitempty"`
	More          int       `json:"more_warnings,omitempty"`
}

func (r *Report) warn(line int, format string, args ...any) {
	if len(r.Warnings) >= maxWarnings {
		r.More++
		return
	}
	r.Warnings = append(r.Warnings, Warning{r.File, line, fmt.Sprintf(format, args...)})
}

// importer is one Import in progress.
type importer struct {
	ctx context.Context
	to  *session.Sessions
	o   Options
	src Source
	rep *Report

	file      *os.File
	reader    reader
	split     func(size int64) splitter
	data      []byte // content of the file, if it is small enough
	clean     []bool // lines that are JSON without white space; only for a small file
	separator string // separator between the parts of the file: a line break, or "" for a transcript.json
	seen      fileMeta
	latest    time.Time // the latest plausible date
	size      int64     // number of bytes read from the file
	count     int       // number of lines in these bytes
	ended     bool      // the last of these lines has a line break

	w        *writer
	prior    *priorImport // the data that an earlier import stored
	sum      hash.Hash
	read     int64
	n        int
	at       time.Time      // time of the last item
	made     int            // number of items so far, in the order of the source
	ids      []string       // ids of the items of the current transcript
	unmapped []originalLine // unmapped lines to be written together
	unmappedBytes,
	items, masked int
	buf   []byte // encoded form of the item being written
	table *stringTable
}

// splitter returns a file in parts.
type splitter interface {
	next() (piece []byte, ended bool, err error)
}

// Import adds a source to the sessions. The session keeps its id, its records have the times
// of their content, and importing the same file into two stores gives the same records.
//
// A source that was imported before stays unchanged, or is continued if the file has grown;
// see [Report]. Problems in a source are warnings with file and line. An error means that the
// source cannot be read at all or that the session cannot be written. It names the file and, if
// known, the line. It returns ErrExists if a session of another origin has the id. Nothing is
// written of a rejected source.
func Import(ctx context.Context, to *session.Sessions, src Source, o *Options) (*Report, error) {
	in := &importer{ctx: ctx, to: to, src: src, rep: &Report{File: src.Path, Session: src.ID, Status: Skipped}}
	if o != nil {
		in.o = *o
	}
	if in.o.Clock == nil {
		in.o.Clock = time.Now
	}
	in.latest = in.o.Clock().Add(clockSkew)
	if in.o.Progress == nil {
		in.o.Progress = func(int64) {}
	}
	err := in.run()
	if err != nil {
		err = fmt.Errorf("import %s: %w", src.Path, err)
	}
	return in.rep, err
}

// clampTime returns t, or no time and a warning if t is in the future.
func (in *importer) clampTime(t time.Time, line int) time.Time {
	if !t.After(in.latest) {
		return t
	}
	in.rep.warn(line, "the date %s is in the future: another date was used", t.Format(time.RFC3339))
	return time.Time{}
}

func (in *importer) run() (err error) {
	if in.file, err = openRegular(in.src.Path); err != nil {
		return err
	}
	defer in.file.Close()
	if st, err := in.file.Stat(); err == nil {
		in.src.Size = st.Size()
	}
	defer func() { // bytes that were not read again, or that have no effect
		if err == nil {
			in.progress(in.src.Size)
		}
	}()
	if in.src.Format == Auto || in.src.Format == "" {
		if in.src.Format, err = detectFormat(in.file); err != nil {
			return &session.Error{Op: "detect the format", Err: session.ErrInvalid, Detail: err.Error(), Hint: "set --format if the file is a transcript"}
		}
	}
	in.rep.Format = in.src.Format
	in.split, in.separator = in.lines, "\n"
	switch in.src.Format {
	case Claude:
		in.reader = newClaude(in.src.Path)
	case Codex:
		in.reader = &codex{}
	case OpenAgentSDK:
		in.reader, in.separator = &openAgent{}, ""
		in.split = func(size int64) splitter { return newPieces(io.NewSectionReader(in.file, 0, size)) }
	case JSONL:
		return in.importRecords()
	default:
		return &session.Error{Op: "import", Err: session.ErrInvalid, Detail: fmt.Sprintf("cannot import format %q", in.src.Format), Hint: "use one of " + join(importableFormats())}
	}
	return in.importVendor()
}

func openRegular(path string) (*os.File, error) {
	st, err := os.Stat(path)
	if err == nil && !st.Mode().IsRegular() {
		err = &os.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// smallFile is the maximum size of a file that is read at once instead of twice.
const smallFile = 8 << 20

// lines splits the first size bytes of the file into lines.
func (in *importer) lines(size int64) splitter {
	if in.src.Size > smallFile {
		return newLines(io.NewSectionReader(in.file, 0, size))
	}
	if in.data == nil {
		in.data = make([]byte, in.src.Size)
		n, _ := io.ReadFull(io.NewSectionReader(in.file, 0, in.src.Size), in.data) // if the file became shorter, the data ends in the middle of a line
		in.data = in.data[:n]
	}
	s := sliceLines(in.data[:min(size, int64(len(in.data)))])
	return &s
}

// importVendor imports another program's session.
func (in *importer) importVendor() error {
	if err := in.index(); err != nil {
		return err
	}
	in.seen = in.reader.plan(in.rep.warn)
	if o, ok := in.reader.(*openAgent); ok && o.fault != nil {
		return o.fault
	}
	if in.count == 0 {
		in.rep.warn(0, "the file is empty")
		return nil
	}
	if err := in.chooseID(); err != nil {
		return err
	}
	if proceed, err := in.findPriorImport(); err != nil || !proceed {
		return err
	}
	if in.prior == nil {
		if err := in.begin(); err != nil {
			return err
		}
	}
	err := in.transfer()
	return errors.Join(err, in.w.close())
}

// chooseID chooses the session's id.
func (in *importer) chooseID() error {
	id := in.src.ID
	if id == "" {
		base := filepath.Base(in.src.Path)
		stem := strings.TrimSuffix(base, filepath.Ext(base))
		switch {
		case in.src.Format == Claude && !strings.HasPrefix(stem, "agent-"):
			id = stem
		case in.seen.session != "" && in.src.Format == Claude:
			in.src.Owner = in.seen.session
			id = in.seen.session + "-" + stem
		case in.seen.session != "":
			id = in.seen.session
		case in.src.Format == OpenAgentSDK:
			id = filepath.Base(filepath.Dir(in.src.Path))
		default:
			id = stem
		}
	}
	in.rep.Session = id
	return session.CheckID(id)
}

// index reads the file to find how its entries are linked. An incomplete last line is left for
// the next import.
func (in *importer) index() error {
	l := in.split(in.src.Size)
	var end int64
	for {
		raw, ended, err := l.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", in.count+1, err)
		}
		if err := in.ctx.Err(); err != nil {
			return err
		}
		in.progress(int64(len(raw)) / 2) // the other half is counted when the line is read again
		line, clean := jsonOf(raw)
		if in.separator != "" && !ended && line == nil && len(raw) > 0 {
			in.rep.warn(in.count+1, "the last line is incomplete: it will be imported when it is complete")
			break
		}
		end += int64(len(raw))
		if ended {
			end += int64(len(in.separator))
		}
		in.count++
		in.ended = ended
		if in.data != nil {
			in.clean = append(in.clean, clean)
		}
		in.reader.index(in.count, raw, line)
		if in.separator != "" && line == nil && len(raw) > 0 && strings.TrimSpace(string(raw)) != "" {
			in.rep.warn(in.count, "the line is not JSON: it is stored but not sent to models")
		}
	}
	in.size = end
	return nil
}

func (in *importer) progress(n int64) {
	n = min(n, max(in.src.Size-in.rep.Bytes, 0))
	in.rep.Bytes += n
	in.o.Progress(n)
}

// transfer reads the file again and writes its items.
func (in *importer) transfer() error {
	in.sum, in.table = sha256.New(), newStringTable()
	l := in.split(in.size)
	out := newReaderOutput(in.item, in.addUnmapped, in.rep.warn)
	out.cut = in.rolledBack
	for in.n < in.count {
		raw, ended, err := l.next()
		if err != nil {
			return fmt.Errorf("line %d disappeared during the import: %w", in.n+1, err)
		}
		if err := in.ctx.Err(); err != nil {
			return err
		}
		in.n++
		in.sum.Write(raw)
		in.read += int64(len(raw))
		if ended {
			in.sum.Write([]byte(in.separator))
			in.read += int64(len(in.separator))
		}
		in.progress(int64(len(raw)) - int64(len(raw))/2)
		k := originalLine{n: in.n, raw: raw}
		var line []byte
		switch {
		case in.data == nil:
			k.raw = append([]byte(nil), raw...) // the buffer is reused for the next line
			line, k.clean = jsonOf(k.raw)
		case in.clean[in.n-1]:
			line, k.clean = raw, true
		default:
			line, _ = jsonOf(raw)
		}
		k.mask(in.o.Mask)
		if err := in.reader.read(k, line, out); err != nil {
			return err
		}
		if in.w.full() && in.n < in.count { // finish writes the last batch
			if err := in.flush(); err != nil {
				return err
			}
		}
	}
	if err := in.reader.end(out); err != nil {
		return err
	}
	if err := out.pair.end(); err != nil {
		return err
	}
	return in.finish()
}
