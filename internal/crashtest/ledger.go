package crashtest

import (
	"os"
	"strings"
)

// Ledger is a file in which tools note that they ran, by use id. It lies outside
// the store, and a note survives the death of its writer.
type Ledger struct{ f *os.File }

// OpenLedger opens or makes the ledger at path. The caller closes it.
func OpenLedger(path string) (*Ledger, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &Ledger{f}, nil
}

// Note writes that the tool use ran, in one write.
func (l *Ledger) Note(session, use string) error {
	_, err := l.f.WriteString(session + " " + use + "\n")
	return err
}

// Close closes the file.
func (l *Ledger) Close() error { return l.f.Close() }

// ReadLedger counts the notes in the ledger at path: by session, by use.
func ReadLedger(path string) (map[string]map[string]int, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	out := map[string]map[string]int{}
	for line := range strings.Lines(string(b)) {
		id, use, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if out[id] == nil {
			out[id] = map[string]int{}
		}
		out[id][use]++
	}
	return out, nil
}
