package crashtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Ack is one acknowledged record.
type Ack struct {
	Session string
	Seq     int64
	ID      string
	Digest  session.Digest
	At      int64 // when it was reported, in nanoseconds since 1970
}

// Report is what a child reported before it ended or was killed.
type Report struct {
	Ready    bool
	Done     bool          // it finished its work
	Took     time.Duration // duration from the start of its work to its end
	Acks     []Ack
	Resumed  int      // sessions whose transcript a model would accept
	Cut      []string // torn tails that were cut and reported
	Events   []Event  // other acknowledgements
	Faults   []string // violations that the child itself found
	KilledAt int64    // time when the kill began, in nanoseconds since 1970; 0 if there was none
	Found    Finding  // of a check: its numbers
	Failed   []string // errors that stopped the child; they are expected after the power was cut
}

// Split separates the acks reported before the kill began from later ones. Cutting the power takes
// some time. In that time, the kernel may let a sync succeed although it drops the sync's
// transaction. With a real power cut, no one would have received those acks.
func (r *Report) Split() (before, late []Ack) {
	if r.KilledAt == 0 {
		return r.Acks, nil
	}
	for _, a := range r.Acks {
		if a.At < r.KilledAt {
			before = append(before, a)
		} else {
			late = append(late, a)
		}
	}
	return before, late
}

// Reporter is the child's end of the pipe. It is safe for concurrent use. A line is written
// completely or, if the child is killed, not at all.
type Reporter struct {
	mu sync.Mutex
	w  io.Writer
}

// NewReporter returns a reporter that writes to w.
func NewReporter(w io.Writer) *Reporter { return &Reporter{w: w} }

func (r *Reporter) line(word, format string, args ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " / ")
	r.mu.Lock()
	defer r.mu.Unlock()
	// The parent may have ended; in that case this process is killed soon.
	_, _ = io.WriteString(r.w, word+" "+text+"\n")
}

// Ready reports that the child starts its work.
func (r *Reporter) Ready() { r.line("ready", "") }

// Done reports that the child has finished its work.
func (r *Reporter) Done() { r.line("done", "") }

// Acked reports acknowledged records. All of them are reported in one write.
func (r *Reporter) Acked(id string, recs []session.Record) {
	var b strings.Builder
	now := time.Now().UnixNano()
	for i := range recs {
		fmt.Fprintf(&b, "ack %s %d %s %s %d\n", id, recs[i].Seq, recs[i].ID, recs[i].Digest, now)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_, _ = io.WriteString(r.w, b.String())
}

// Resumed reports that a session's transcript was accepted.
func (r *Reporter) Resumed(id string) { r.line("resumed", "%s", id) }

// Recovered reports what had to be repaired to open a log; it reports nothing if nothing had to be
// repaired.
func (r *Reporter) Recovered(rec *session.Recovery) {
	if rec != nil {
		r.line("cut", "%d bytes after seq %d of %s, kept in %s", rec.CutBytes, rec.Head, rec.Session, rec.TailFile)
	}
}

// Fault reports a violation.
func (r *Reporter) Fault(format string, args ...any) { r.line("fault", format, args...) }

// Found reports the numbers of a verification: records that it read, that are lost, and that were
// not acknowledged.
func (r *Reporter) Found(f *Finding) { r.line("found", "%d %d %d", f.Records, f.Lost, f.Unacked) }

// Failed reports the error that stopped the child.
func (r *Reporter) Failed(err error) { r.line("failed", "%v", err) }

// ReadReport reads everything that a child reports. It calls ready when the child starts its
// work. An incomplete last line is dropped: the child was killed while it wrote it.
func ReadReport(from io.Reader, ready func()) (*Report, error) {
	rep := &Report{}
	lines := bufio.NewReader(from)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return rep, nil
		}
		if err != nil {
			return rep, err
		}
		word, text, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch word {
		case "ready":
			rep.Ready = true
			ready()
		case "done":
			rep.Done = true
		case "ack":
			a, err := parseAck(text)
			if err != nil {
				return rep, err
			}
			rep.Acks = append(rep.Acks, a)
		case "event":
			var e Event
			if err := json.Unmarshal([]byte(text), &e); err != nil {
				return rep, fmt.Errorf("crashtest: event %q: %w", text, err)
			}
			rep.Events = append(rep.Events, e)
		case "resumed":
			rep.Resumed++
		case "cut":
			rep.Cut = append(rep.Cut, text)
		case "fault":
			rep.Faults = append(rep.Faults, text)
		case "found":
			if _, err := fmt.Sscanf(text, "%d %d %d", &rep.Found.Records, &rep.Found.Lost, &rep.Found.Unacked); err != nil {
				return rep, fmt.Errorf("crashtest: found %q: %w", text, err)
			}
		case "failed":
			rep.Failed = append(rep.Failed, text)
		default:
			return rep, fmt.Errorf("crashtest: a child says %q", line)
		}
	}
}

func parseAck(text string) (Ack, error) {
	var (
		a      Ack
		digest string
	)
	if _, err := fmt.Sscanf(text, "%s %d %s %s %d", &a.Session, &a.Seq, &a.ID, &digest, &a.At); err != nil {
		return a, fmt.Errorf("crashtest: ack %q: %w", text, err)
	}
	return a, a.Digest.UnmarshalText([]byte(digest))
}
