package file

import (
	"encoding/json"
	"errors"
	"io"
	"os"

	"github.com/holdfast-dev/holdfast/session"
)

const (
	logName  = "log.jsonl"
	metaName = "meta.json"
)

// summaryFormat is the version of a summary. A summary of another version is computed again,
// because its meta lacks later fields (2: open approval requests; 3: the status and owner of a
// run).
const summaryFormat = 4

// logSummary is a cache of the data that is computed from the log up to some offset.
type logSummary struct {
	Format   int          `json:"format"`
	Meta     session.Meta `json:"meta"`
	Start    int64        `json:"start"` // start of the head's line
	End      int64        `json:"end"`   // end of that line
	Stamp    fileStamp    `json:"stamp"` // stamp of the log when the summary was made
	Verified bool         `json:"verified"`
	Opened   bool         `json:"opened"` // the first record was readable, so the parent is known

	lost bool // the session cannot be read; End is 0, and Meta comes from its last summary
}

// encode writes the summary with its checksum. It is renamed without a sync, so a power cut may
// leave any content.
func (m logSummary) encode() []byte {
	m.Format = summaryFormat
	body, _ := json.Marshal(m) // plain fields cannot fail
	b := append(make([]byte, 8, len(body)+10), ' ')
	putHex(b, checksum(body))
	return append(append(b, body...), '\n')
}

func decodeSummary(b []byte) (m logSummary, ok bool) {
	if len(b) < 10 || b[8] != ' ' || b[len(b)-1] != '\n' {
		return m, false
	}
	crc, ok := getHex(b)
	body := b[9 : len(b)-1]
	if !ok || checksum(body) != crc || json.Unmarshal(body, &m) != nil {
		return logSummary{}, false
	}
	return m, true
}

// readSummary reads a session's cached summary. It returns the zero summary if there is none.
func readSummary(s *Store, dir *os.Root, name string) logSummary {
	f, err := s.disk.open(dir, name, os.O_RDONLY)
	if err != nil {
		return logSummary{}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<20))
	if err != nil {
		return logSummary{}
	}
	m, _ := decodeSummary(b)
	return m
}

// fits reports whether the summary belongs to this log and this version: the line of the head must
// be at the summary's offset.
func (m logSummary) fits(f io.ReaderAt, size int64) bool {
	n := m.End - m.Start
	if m.Format != summaryFormat || m.End > size || n <= headLen || m.Start < 0 {
		return false
	}
	b := make([]byte, n)
	if _, err := f.ReadAt(b, m.Start); err != nil {
		return false
	}
	r, _, ok := parseLine(b)
	return ok && r.Seq == m.Meta.Head && r.Digest == m.Meta.HeadDigest
}

// foldResult is the outcome of folding a log.
type foldResult struct {
	logSummary
	corrupt int64 // seq of the first damaged record that valid ones follow, or 0
	detail  string
}

// fold continues from m to limit. It reads complete batches only; in a trimmed log the last
// batch need not be complete. Bytes after the resulting End are a torn tail.
func fold(id string, f io.ReaderAt, m logSummary, limit int64, trimmed bool) (foldResult, error) {
	out := foldResult{logSummary: m}
	out.Format = summaryFormat
	s := scanner{f: f, off: m.End, limit: limit}
	prev := chainState{seq: m.Meta.Head, digest: m.Meta.HeadDigest, known: m.End > 0}
	var (
		batch     []session.Record
		start     int64
		end       int64
		damage    int64 // it is not yet known whether valid records follow
		detail    string
		takeBatch = func() {
			d, err := session.Fold(batch)
			if err != nil { // a payload from which the list fields cannot be read
				last := batch[len(batch)-1]
				d = session.Delta{Head: last.Seq, Digest: last.Digest, Updated: last.Time}
			}
			out.Meta = out.Meta.Apply(d)
			out.Opened = out.Opened || d.Opened != nil
			out.Start, out.End = start, end
			if damage != 0 && out.corrupt == 0 {
				out.corrupt, out.detail = damage, detail
			}
			batch = batch[:0]
		}
	)
	for {
		l, err := s.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return out, err
		}
		again := prev.known && !l.bad && l.rec.Seq <= prev.seq
		if why := prev.follow(l); why != "" && damage == 0 {
			damage, detail = prev.lost, why
		}
		if l.bad || again {
			continue
		}
		batch = append(batch, l.rec)
		start, end = l.off, l.end
		if l.left == 0 {
			takeBatch()
		}
	}
	if trimmed && len(batch) > 0 {
		takeBatch()
	}
	out.Meta.ID = id // the directory's name wins over the file's content
	return out, nil
}

// chainState checks the hash chain of a log line by line.
type chainState struct {
	seq    int64
	digest session.Digest
	known  bool  // false before the first line
	broken bool  // lines before this one were damaged
	lost   int64 // the seq of the last fault
}

// follow returns why a line cannot come after the previous one, or "".
func (c *chainState) follow(l line) string {
	if l.bad {
		c.lost = c.seq + 1
		c.broken = true
		return "the line is damaged"
	}
	why := ""
	switch {
	case !c.known && !c.broken:
	case l.rec.Seq <= c.seq && c.known:
		c.lost = l.rec.Seq
		return "duplicate record"
	case c.known && l.rec.Seq > c.seq+1, c.broken && !c.known:
		c.lost, why = c.seq+1, "the record is missing"
	case l.rec.Prev != c.digest:
		c.lost, why = l.rec.Seq, "the record does not follow the one before it"
	}
	c.seq, c.digest, c.known, c.broken = l.rec.Seq, l.rec.Digest, true, false
	return why
}

// verify checks every line up to end. It returns the seq of the first damaged record, or 0.
func verify(f io.ReaderAt, end int64) (int64, string, error) {
	s := scanner{f: f, limit: end}
	var prev chainState
	for {
		l, err := s.next()
		if errors.Is(err, io.EOF) {
			return 0, "", nil
		}
		if err != nil {
			return 0, "", err
		}
		if why := prev.follow(l); why != "" {
			return prev.lost, why, nil
		}
	}
}
