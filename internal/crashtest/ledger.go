package crashtest

import (
	"fmt"
	"os"
	"strings"
	"time"
)

// Ledger is a file in which tools record that they ran, by tool use id. It is outside the store,
// and an entry survives the end of the process that wrote it.
type Ledger struct{ f *os.File }

// OpenLedger opens or creates the ledger at path. The caller closes it.
func OpenLedger(path string) (*Ledger, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &Ledger{f}, nil
}

// noteSize is the length of an entry. A kill can interrupt a write at a page boundary; entries of
// this size are always within one page.
const noteSize = 64

// Note records that the tool use ran. The entry is written completely or not at all.
func (l *Ledger) Note(session, use string) error {
	note := fmt.Sprintf("%s %s %d", session, use, time.Now().UnixNano())
	if len(note) >= noteSize {
		return fmt.Errorf("crashtest: ledger: %q is too long", note)
	}
	_, err := fmt.Fprintf(l.f, "%-*s\n", noteSize-1, note)
	return err
}

// Close closes the file.
func (l *Ledger) Close() error { return l.f.Close() }

// Runs is the information in a ledger about one tool use.
type Runs struct {
	Times int
	Late  bool // after the kill had begun: the log may or may not contain it
}

// ReadLedger counts the entries in the ledger at path, by session and by tool use.
func ReadLedger(path string) (map[string]map[string]Runs, error) {
	out := map[string]map[string]Runs{}
	return out, eachNote(path, func(id, use string, at int64) {
		if out[id] == nil {
			out[id] = map[string]Runs{}
		}
		r := out[id][use]
		r.Times++
		r.Late = r.Late || at == lateMark
		out[id][use] = r
	})
}

// lateMark replaces the time of an entry that was written after the kill had begun.
const lateMark = 0

// MarkLate marks the entries in the ledger at path that were written at or after a time, in
// nanoseconds since 1970.
func MarkLate(path string, since int64) error {
	var b strings.Builder
	if err := eachNote(path, func(id, use string, at int64) {
		if at >= since {
			at = lateMark
		}
		fmt.Fprintf(&b, "%-*s\n", noteSize-1, fmt.Sprintf("%s %s %d", id, use, at))
	}); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(b.String()), 0o600)
}

func eachNote(path string, f func(id, use string, at int64)) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(b)) {
		var (
			id, use string
			at      int64
		)
		if _, err := fmt.Sscanf(line, "%s %s %d", &id, &use, &at); err != nil {
			return fmt.Errorf("crashtest: ledger: %q: %w", line, err)
		}
		f(id, use, at)
	}
	return nil
}
