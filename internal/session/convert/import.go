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

// Source is a file with a session in it; [Find] makes them.
type Source struct {
	Path      string
	Format    Format // Auto: look at the content
	Size      int64  // when it was found
	ID        string // of the session; "" is what the file says, else its name
	Owner     string // the session that it was a sub-agent of, or ""
	Companion string // a file with more about a sub-agent, or ""
}

// Options adjusts [Import]. The zero value works.
type Options struct {
	// Mask masks secrets in everything that is written; nil masks nothing. A line in
	// which something was masked is not the same line again when it is exported. Our
	// own records are never masked: their digests vouch for what they say.
	Mask *secret.Masker
	// Trusted takes our own records in also when they hold permissions that would be in
	// force again when somebody goes on with the session: grants, a mode, the answer to a
	// question whose call did not run. Otherwise that is ErrInvalid.
	Trusted bool
	// Project says which project a folder belongs to; nil or "": none.
	Project func(cwd string) string
	// DryRun reads everything and writes nothing.
	DryRun bool
	// Clock gives the time of sessions that have none; default time.Now.
	Clock func() time.Time
	// Progress is told how many more bytes were read; it is called often.
	Progress func(bytes int64)
}

// Status says what became of a source.
type Status string

// The statuses.
const (
	Imported  Status = "imported"  // the session is new
	Continued Status = "continued" // what was appended to the file since was added
	Unchanged Status = "unchanged" // everything was there already
	Skipped   Status = "skipped"   // nothing was written; a warning says why
)

// Warning is something that a source had wrong. Line is 0 when it concerns all of it;
// of a transcript.json it counts the messages from 2 on.
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

// clockSkew is how far the clock of another machine may be ahead of ours. A later date has not
// come yet: with it a session would be the newest in every list, for good.
const clockSkew = 24 * time.Hour

// maxWarnings bounds the warnings of one source; Report.More counts the rest.
const maxWarnings = 100

// Report says what [Import] did.
type Report struct {
	File          string    `json:"file"`
	Format        Format    `json:"format"`
	Session       string    `json:"session"`
	Status        Status    `json:"status"`
	Items         int       `json:"items"`  // of the source, written now
	Lines         int       `json:"lines"`  // read
	UnmappedLines int       `json:"aside"`  // of those: kept, and no item was made of them
	Masked        int       `json:"masked"` // of those: a secret in them was masked
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

// importer is one run of Import.
type importer struct {
	ctx context.Context
	to  *session.Sessions
	o   Options
	src Source
	rep *Report

	file   *os.File
	reader reader
	split  func(size int64) splitter
	data   []byte // the file, when it is small enough
	clean  []bool // lines that are JSON as it is written here; of a small file only
	broken string // between the pieces of the file
	seen   fileMeta
	latest time.Time // of a date that can be right
	size   int64     // how much of the file is read, and
	count  int       // how many lines that are
	ended  bool      // the last one of them has a line break

	w    *writer
	had  *priorImport // what an earlier import has left
	sum  hash.Hash
	read int64
	n    int
	at   time.Time      // of the last item
	made int            // items so far, in the order of the source
	ids  []string       // of the transcript as it stands
	left []originalLine // lines that are to be written together
	leftBytes,
	items, masked int
	buf   []byte // of the item that is written
	stock *stringTable
}

// splitter gives a file piece by piece.
type splitter interface {
	next() (piece []byte, ended bool, err error)
}

// Import adds a source to the sessions. The session has the id that it had where it
// comes from, its records have the times of what they hold, and importing the same
// file into two stores gives the same records.
//
// A source that is there already is left alone or, when more was appended to it, goes
// on; see [Report]. What a source has wrong is a warning with file and line. The error
// is for what cannot be read at all, or not be written: it names the file, and the
// line where there is one. ErrExists, when the id is taken by a session of another
// origin. Nothing is written of a source that is refused.
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

// clampTime is a time, or none, with a warning, where it has not come yet.
func (in *importer) clampTime(t time.Time, line int) time.Time {
	if !t.After(in.latest) {
		return t
	}
	in.rep.warn(line, "the date %s is in the future: another one takes its place", t.Format(time.RFC3339))
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
	defer func() { // what was not read again, or in vain
		if err == nil {
			in.progress(in.src.Size)
		}
	}()
	if in.src.Format == Auto || in.src.Format == "" {
		if in.src.Format, err = detectFormat(in.file); err != nil {
			return &session.Error{Op: "detect the format", Err: session.ErrInvalid, Detail: err.Error(), Hint: "say --format, if it is a transcript"}
		}
	}
	in.rep.Format = in.src.Format
	in.split, in.broken = in.lines, "\n"
	switch in.src.Format {
	case Claude:
		in.reader = newClaude(in.src.Path)
	case Codex:
		in.reader = &codex{}
	case OpenAgentSDK:
		in.reader, in.broken = &openAgent{}, ""
		in.split = func(size int64) splitter { return newPieces(io.NewSectionReader(in.file, 0, size)) }
	case JSONL:
		return in.records()
	default:
		return &session.Error{Op: "import", Err: session.ErrInvalid, Detail: fmt.Sprintf("%q is not a format that is read", in.src.Format)}
	}
	return in.foreign()
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

// smallFile bounds what is read at once, instead of twice.
const smallFile = 8 << 20

// lines splits the file up to a size.
func (in *importer) lines(size int64) splitter {
	if in.src.Size > smallFile {
		return newLines(io.NewSectionReader(in.file, 0, size))
	}
	if in.data == nil {
		in.data = make([]byte, in.src.Size)
		n, _ := io.ReadFull(io.NewSectionReader(in.file, 0, in.src.Size), in.data) // what is missing ends in the middle
		in.data = in.data[:n]
	}
	s := sliceLines(in.data[:min(size, int64(len(in.data)))])
	return &s
}

// foreign imports another program's session.
func (in *importer) foreign() error {
	if err := in.index(); err != nil {
		return err
	}
	in.seen = in.reader.plan(in.rep.warn)
	if o, ok := in.reader.(*openAgent); ok && o.fault != nil {
		return o.fault
	}
	if in.count == 0 {
		in.rep.warn(0, "there is nothing in it")
		return nil
	}
	if err := in.name(); err != nil {
		return err
	}
	if go_, err := in.findPriorImport(); err != nil || !go_ {
		return err
	}
	if in.had == nil {
		if err := in.begin(); err != nil {
			return err
		}
	}
	err := in.transfer()
	return errors.Join(err, in.w.close())
}

// name chooses the session's id.
func (in *importer) name() error {
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

// index reads the file for how it hangs together. A last line that was cut off is
// left for the next time.
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
		in.progress(int64(len(raw)) / 2) // the other half counts when it is read again
		line, clean := jsonOf(raw)
		if in.broken != "" && !ended && line == nil && len(raw) > 0 {
			in.rep.warn(in.count+1, "the last line is cut off: it is left out, until it is whole")
			break
		}
		end += int64(len(raw))
		if ended {
			end += int64(len(in.broken))
		}
		in.count++
		in.ended = ended
		if in.data != nil {
			in.clean = append(in.clean, clean)
		}
		in.reader.index(in.count, raw, line)
		if in.broken != "" && line == nil && len(raw) > 0 && strings.TrimSpace(string(raw)) != "" {
			in.rep.warn(in.count, "the line is no JSON: it is kept, and models will not see it")
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

// transfer reads the file again and writes it.
func (in *importer) transfer() error {
	in.sum, in.stock = sha256.New(), newStock()
	l := in.split(in.size)
	out := newOut(in.item, in.addUnmapped, in.rep.warn)
	out.cut = in.rolledBack
	for in.n < in.count {
		raw, ended, err := l.next()
		if err != nil {
			return fmt.Errorf("line %d: it was there and is not any more: %w", in.n+1, err)
		}
		if err := in.ctx.Err(); err != nil {
			return err
		}
		in.n++
		in.sum.Write(raw)
		in.read += int64(len(raw))
		if ended {
			in.sum.Write([]byte(in.broken))
			in.read += int64(len(in.broken))
		}
		in.progress(int64(len(raw)) - int64(len(raw))/2)
		k := originalLine{n: in.n, raw: raw}
		var line []byte
		switch {
		case in.data == nil:
			k.raw = append([]byte(nil), raw...) // the buffer is used for the next line
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
		if in.w.full() && in.n < in.count { // the last batch is finish's
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
