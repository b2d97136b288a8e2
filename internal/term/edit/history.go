package edit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/inputlog"
	"github.com/holdfast-dev/holdfast/internal/jsonlines"
)

// Entry is a text that the user sent.
type Entry struct {
	Text    string    `json:"text"`
	Pastes  [][2]int  `json:"pastes,omitempty"` // start and end of pasted blocks in Text, in bytes
	Time    time.Time `json:"time,omitzero"`
	Session string    `json:"session,omitempty"` // the session it was sent to, so that erasing the session removes it
}

func newEntry(cells []cell) (n Entry) {
	at := 0
	for _, c := range cells {
		if c.paste {
			n.Pastes = append(n.Pastes, [2]int{at, at + len(c.text)})
		}
		at += len(c.text)
	}
	n.Text = join(cells)
	return n
}

// pieces returns the blocks of the text and what is between them. Blocks that do not fit the text
// are ignored, because the entry can come from a file.
func (n Entry) pieces() iter.Seq2[string, bool] {
	return func(yield func(text string, paste bool) bool) {
		at := 0
		for _, p := range n.Pastes {
			if at <= p[0] && p[0] <= p[1] && p[1] <= len(n.Text) {
				if !yield(n.Text[at:p[0]], false) || !yield(n.Text[p[0]:p[1]], true) {
					return
				}
				at = p[1]
			}
		}
		yield(n.Text[at:], false)
	}
}

func (n Entry) cells() (cells []cell) {
	for text, paste := range n.pieces() {
		if paste {
			list := pasted(clean(text))
			if !list[0].paste { // it is not long, so it was a label
				list = []cell{label(text)}
			}
			cells = append(cells, list...)
		} else {
			cells = append(cells, split(clean(text))...)
		}
	}
	return cells
}

// masked returns the entry with masked text. Its blocks stay if no secret crosses their borders.
func (n Entry) masked(mask func(string) string) Entry {
	whole := mask(n.Text)
	if whole == n.Text {
		return n
	}
	text, pastes := "", [][2]int(nil)
	for piece, paste := range n.pieces() {
		start := len(text)
		if text += mask(piece); paste {
			pastes = append(pastes, [2]int{start, len(text)})
		}
	}
	if n.Text, n.Pastes = whole, pastes; text != whole {
		n.Pastes = nil
	}
	return n
}

// Limits of the file. When it is full, the oldest entries are removed, down to the kept sizes, so
// that not every added entry rewrites the file.
const (
	maxEntries, keptEntries = 1000, 900
	maxBytes, keptBytes     = 8 << 20, 4 << 20
	maxEntryBytes           = 1 << 20 // a longer entry is not stored, only kept in memory
)

// HistoryOptions configures a [History].
type HistoryOptions struct {
	Mask func(text string) string // replaces secrets before text is stored; nil stores text as it is
}

// History is what the user sent in this and in earlier sessions, in a file of JSON lines (mode 0600)
// with at most 1,000 entries. Several programs can use the file at the same time; a file with the
// suffix ".lock" next to it holds their lock. A program sees the entries that other programs
// added before it opened the history. A History is safe for concurrent use.
type History struct {
	path string
	mask func(string) string

	mu      sync.Mutex
	entries []Entry // oldest first
}

// OpenHistory reads a history; the file need not exist. Lines that are no entries, such as
// one that a crash cut off, are ignored. An empty path keeps the history in memory.
func OpenHistory(path string, o *HistoryOptions) (*History, error) {
	h := &History{path: path}
	if o != nil {
		h.mask = o.Mask
	}
	if path == "" {
		return h, nil
	}
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("read the input history: %w", err)
	}
	lines := jsonlines.New(bytes.NewReader(b))
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		var n Entry
		if err == nil && json.Unmarshal(line, &n) == nil && n.Text != "" {
			h.entries = append(h.entries, n)
		}
	}
	h.entries = h.entries[max(0, len(h.entries)-maxEntries):]
	return h, nil
}

// Add adds an entry. Blank text and a repetition of the newest entry are ignored. In this program,
// the entry keeps its secrets; the file gets the masked text. Add waits for the lock of the file
// until ctx ends.
func (h *History) Add(ctx context.Context, n Entry) error {
	if strings.TrimSpace(n.Text) == "" || !h.remember(n) || h.path == "" {
		return nil
	}
	if h.mask != nil {
		n = n.masked(h.mask)
	}
	line, err := json.Marshal(n)
	if err != nil || len(line) > maxEntryBytes {
		return err
	}
	return inputlog.Change(ctx, h.path, func(old []byte) error {
		if bytes.Count(old, []byte("\n")) >= maxEntries || len(old)+len(line) > maxBytes {
			return diskfile.Write(h.path, append(append(newest(old), line...), '\n'))
		}
		if len(old) > 0 && old[len(old)-1] != '\n' { // a crash cut off the last line
			line = append([]byte("\n"), line...)
		}
		return appendLine(h.path, append(line, '\n'))
	})
}

// remember adds an entry to those in memory. It returns false if the entry is the newest already.
func (h *History) remember(n Entry) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.entries) > 0 && h.entries[len(h.entries)-1].Text == n.Text {
		return false
	}
	h.entries = append(h.entries, n)
	h.entries = h.entries[max(0, len(h.entries)-maxEntries):]
	return true
}

// newest returns the newest lines within the kept sizes, each with its line break.
func newest(file []byte) (kept []byte) {
	lines := bytes.SplitAfter(bytes.TrimSuffix(file, []byte("\n")), []byte("\n"))
	lines = lines[max(0, len(lines)-keptEntries):]
	total := 0
	for i := len(lines) - 1; i >= 0; i-- {
		if total += len(lines[i]); total > keptBytes {
			lines = lines[i+1:]
			break
		}
	}
	if kept = bytes.Join(lines, nil); len(kept) > 0 {
		kept = append(kept, '\n')
	}
	return kept
}

func appendLine(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(line)
	return errors.Join(err, f.Close())
}

// Len returns how many entries there are; a nil History has none.
func (h *History) Len() int {
	if h == nil {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.entries)
}

// entry returns the entry that is back entries from the end; 1 is the newest.
func (h *History) entry(back int) Entry {
	h.mu.Lock()
	defer h.mu.Unlock()
	if back < 1 || back > len(h.entries) { // the history is shorter
		return Entry{}
	}
	return h.entries[len(h.entries)-back]
}

// find returns the next entry that contains query, from the entry at back in steps of +1 (older) or
// -1 (newer), or 0. Lower-case letters in query match both cases. An entry with the same text as
// the one at back is passed.
func (h *History) find(query string, back, step int) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	fold := func(s string) string { return s }
	if query == strings.ToLower(query) {
		fold = strings.ToLower
	}
	text := func(back int) string { return h.entries[len(h.entries)-back].Text }
	for i := back + step; i >= 1 && i <= len(h.entries); i += step {
		same := back >= 1 && back <= len(h.entries) && text(i) == text(back)
		if !same && strings.Contains(fold(text(i)), fold(query)) {
			return i
		}
	}
	return 0
}
