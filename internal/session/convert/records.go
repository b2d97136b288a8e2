package convert

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// appendRecord writes a record as one line of Holdfast's JSONL, without the line break. The
// payload keeps its bytes, so the digests stay valid.
func appendRecord(b []byte, r *session.Record) []byte {
	b = append(b, `{"seq":`...)
	b = strconv.AppendInt(b, r.Seq, 10)
	b = append(b, `,"id":`...)
	b = jsonscan.AppendString(b, r.ID)
	b = append(b, `,"time":"`...)
	b = r.Time.UTC().AppendFormat(b, time.RFC3339Nano)
	b = append(b, `","kind":`...)
	b = jsonscan.AppendString(b, string(r.Kind))
	b = append(b, `,"payload":`...)
	if r.Payload == nil {
		b = append(b, "null"...)
	}
	b = append(b, r.Payload...)
	for _, d := range [...]struct {
		name string
		sum  session.Digest
	}{{`,"prev":"`, r.Prev}, {`,"body":"`, r.Body}, {`,"digest":"`, r.Digest}} {
		b = append(b, d.name...)
		b = append(b, d.sum.String()...)
		b = append(b, '"')
	}
	if r.Masked {
		b = append(b, `,"masked":true`...)
	}
	return append(b, '}')
}

// readRecord reads a line of Holdfast's JSONL. The payload shares memory with the line.
func readRecord(line []byte) (r session.Record, err error) {
	if valid, _ := check(line); !valid || !isObject(line[jsonscan.SkipSpace(line, 0):]) {
		return r, errors.New("not a JSON object")
	}
	seen := map[string]bool{}
	members(line, func(key string, v []byte) bool {
		if seen[key] {
			err = fmt.Errorf("duplicate field %q", key)
			return false
		}
		seen[key] = true
		switch key {
		case "seq":
			r.Seq, err = strconv.ParseInt(string(v), 10, 64)
		case "id":
			r.ID = text(v)
		case "time":
			r.Time, err = time.Parse(time.RFC3339Nano, text(v))
		case "kind":
			r.Kind = session.Kind(text(v))
		case "payload":
			if string(v) != "null" {
				r.Payload = v
			}
		case "prev":
			err = r.Prev.UnmarshalText([]byte(text(v)))
		case "body":
			err = r.Body.UnmarshalText([]byte(text(v)))
		case "digest":
			err = r.Digest.UnmarshalText([]byte(text(v)))
		case "masked":
			err = errors.New("a masked record cannot be imported: its digest is that of the original payload")
		default:
			err = fmt.Errorf("a record has no field %q", key)
		}
		if err != nil {
			err = fmt.Errorf("%s: %w", key, err)
		}
		return err == nil
	})
	switch {
	case err != nil:
		return r, err
	case !seen["seq"] || !seen["kind"] || !seen["digest"] || !seen["payload"]:
		return r, errors.New("not a record: want seq, kind, payload and digest")
	case r.Payload != nil && !isObject(r.Payload):
		return r, errors.New("the payload is not an object")
	case !slices.Contains(record.Kinds(), string(r.Kind)):
		return r, fmt.Errorf("a record of kind %q: %w", r.Kind, session.ErrNewer)
	}
	r.Time = r.Time.UTC()
	if err := r.Check(); !errors.Is(err, session.ErrSealed) { // an encrypted or masked record is kept unchanged
		return r, err
	}
	return r, nil
}

// segment is the part of a file that belongs to one session: a fork's file starts with its
// parents' records.
type segment struct {
	id     string
	first  int64 // seq
	last   int64
	digest session.Digest // digest of the last record
	have   int64          // the store has the records up to this one
	gone   bool           // the session is deleted in the store, and its records are kept for its forks
	w      *writer
}

// importRecords imports Holdfast's own JSONL: every record unchanged.
func (in *importer) importRecords() error {
	list, err := in.segments()
	if err != nil || len(list) == 0 {
		return err
	}
	fresh, more := false, false
	for i := range list {
		s := &list[i]
		if err := in.known(s); err != nil {
			return err
		}
		fresh = fresh || s.have < s.first
		more = more || s.have < s.last
	}
	last := list[len(list)-1]
	in.rep.Session = last.id
	switch {
	case last.gone:
		return &session.Error{Op: "import", Session: last.id, Err: session.ErrExists, Detail: deletedInSource}
	case !more:
		in.rep.Status = Unchanged
		return nil
	case fresh:
		in.rep.Status = Imported
	default:
		in.rep.Status = Continued
	}
	if in.o.DryRun {
		return nil
	}
	err = in.copyRecords(list)
	for i := range list {
		err = errors.Join(err, list[i].w.close())
	}
	return err
}

// eachRecord reads the file.
func (in *importer) eachRecord(do func(line int, r *session.Record) error) error {
	if _, err := in.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	l := newLines(in.file)
	for {
		raw, ended, err := l.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = in.ctx.Err()
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", l.n, err)
		}
		in.progress(int64(len(raw)) / 2)
		if strings.TrimSpace(string(raw[:min(len(raw), 64)])) == "" {
			continue
		}
		r, err := readRecord(raw)
		if err != nil && !ended {
			if valid, _ := check(raw); !valid {
				in.cutOff(l.n)
				return nil
			}
		}
		if err == nil && r.Time.After(in.latest) { // the digest covers the time, so it cannot be replaced
			err = &session.Error{
				Op: "import", Err: session.ErrInvalid, Detail: "the date " + r.Time.Format(time.RFC3339) + " of the record is in the future",
				Hint: "compare the clocks of this machine and the machine that wrote the file",
			}
		}
		if err == nil {
			err = do(l.n, &r)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", l.n, err)
		}
	}
}

func (in *importer) cutOff(line int) {
	if len(in.rep.Warnings) == 0 {
		in.rep.warn(line, "the last line is incomplete: it was not imported")
	}
}

// segments checks the whole file and finds the session of each record.
func (in *importer) segments() ([]segment, error) {
	var (
		list []segment
		prev session.Record
	)
	var given grantFilter
	err := in.eachRecord(func(_ int, r *session.Record) error {
		in.rep.Lines++
		given.take(r)
		if err := r.CheckAfter(&prev); err != nil && !errors.Is(err, session.ErrSealed) {
			return err
		}
		prev = session.Record{Seq: r.Seq, Digest: r.Digest}
		d, err := session.Fold([]session.Record{*r})
		if err != nil {
			return err
		}
		if d.Opened != nil {
			if err := session.CheckID(d.Opened.SessionID); err != nil {
				return err
			}
			if d.Opened.Format > record.FormatVersion {
				return fmt.Errorf("format %d: %w", d.Opened.Format, session.ErrNewer)
			}
			if b := d.Opened.Base; len(list) > 0 && (b == nil || b.Parent != list[len(list)-1].id || b.Seq != r.Seq-1 || b.Digest != r.Prev) {
				return errors.New("a session starts here that is not a fork of the previous one")
			} else if len(list) == 0 && b != nil {
				return errors.New("the file starts with a fork, but its parent is missing")
			}
			list = append(list, segment{id: d.Opened.SessionID, first: r.Seq})
		}
		if len(list) == 0 {
			return errors.New("the first record does not open a session")
		}
		s := &list[len(list)-1]
		s.last, s.digest = r.Seq, r.Digest
		return nil
	})
	if err == nil && len(list) == 0 {
		in.rep.warn(0, "the file is empty")
	}
	if err == nil && !in.o.Trusted {
		err = given.refusal(list)
	}
	return list, err
}

// grantFilter finds permissions in a log that would take effect on resume.
type grantFilter struct {
	policy  bool // a policy change applies
	answers bool // an approval request was answered in a turn that is still open
}

func (p *grantFilter) take(r *session.Record) {
	switch r.Kind {
	case record.KindPolicyChanged:
		var c record.PolicyChanged
		p.policy = r.Payload != nil && (json.Unmarshal(r.Payload, &c) != nil || !c.Ended)
	case record.KindApprovalResolved:
		p.answers = true
	case record.KindTurnClosed:
		p.answers = false
	}
}

func (p *grantFilter) refusal(list []segment) error {
	if !p.policy && !p.answers || len(list) == 0 {
		return nil
	}
	return &session.Error{
		Op: "import", Session: list[len(list)-1].id, Err: session.ErrInvalid,
		Detail: "the log contains permissions that would take effect on resume",
		Hint:   "use holdfast sessions import --trusted if you trust the origin of the file",
	}
}

// known finds the records of a segment that are already in the store, and rejects another session
// with the same id.
func (in *importer) known(s *segment) error {
	p, err := in.to.Store().List(in.ctx, session.Query{ID: s.id})
	if err != nil || len(p.Sessions) == 0 {
		return err
	}
	m := p.Sessions[0]
	s.gone = m.Deleted
	other := &session.Error{Op: "import", Session: s.id, Err: session.ErrExists, Detail: "the stored session has other records than the file", Hint: "holdfast sessions show " + s.id}
	if m.Head <= s.last {
		s.have = m.Head
		return in.eachRecord(func(_ int, r *session.Record) error {
			if r.Seq == m.Head && r.Digest != m.HeadDigest {
				return other
			}
			return nil
		})
	}
	s.have = s.last
	for r, err := range in.to.Store().Read(in.ctx, s.id, session.Range{After: s.last - 1, Until: s.last}) {
		if err != nil {
			return err
		}
		if r.Digest == s.digest {
			return nil
		}
	}
	return other
}

// copyRecords appends the records that the store does not have.
func (in *importer) copyRecords(list []segment) error {
	at := 0
	return in.eachRecord(func(_ int, r *session.Record) error {
		for at < len(list)-1 && r.Seq > list[at].last {
			at++
		}
		s := &list[at]
		if r.Seq <= s.have || r.Seq > s.last { // the file may have grown meanwhile
			return nil
		}
		if s.w == nil {
			s.w = &writer{ctx: in.ctx, to: in.to, id: s.id, head: r.Seq - 1}
		}
		c := *r
		c.Payload = append(json.RawMessage(nil), r.Payload...)
		s.w.recs = append(s.w.recs, c)
		s.w.bytes += len(c.Payload)
		if r.Kind == session.KindItem {
			in.rep.Items++
		}
		if s.w.full() || r.Seq == s.last {
			return s.w.flush()
		}
		return nil
	})
}
