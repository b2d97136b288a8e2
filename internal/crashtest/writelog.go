package crashtest

import (
	"math/rand/v2"
	"strings"
	"sync"
)

// sector is the size in bytes of the unit that a disk writes completely or not at all. block is the
// size of the unit in which an [Image] stores changes.
const (
	sector = 512
	block  = 4096
)

// WriteLog contains, in order, everything that was done to a disk: writes, flushes, and notes of
// the programs that use it. It is safe for concurrent use.
type WriteLog struct {
	mu      sync.Mutex
	entries []entry
}

type entry struct {
	off  int64
	data []byte // of a write
	note string // of a note; a flush has neither
}

func (e *entry) flush() bool { return e.data == nil && e.note == "" }

// Write adds a write of a copy of b.
func (l *WriteLog) Write(b []byte, off int64) {
	l.add(entry{off: off, data: append([]byte{}, b...)})
}

// Flush adds a flush: after it, everything written before it is on the medium.
func (l *WriteLog) Flush() { l.add(entry{}) }

// Note adds a note.
func (l *WriteLog) Note(text string) { l.add(entry{note: text}) }

func (l *WriteLog) add(e entry) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = append(l.entries, e)
}

// Len returns the number of entries.
func (l *WriteLog) Len() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.entries)
}

// Notes returns the notes among the first n entries, as they were written.
func (l *WriteLog) Notes(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var b strings.Builder
	for i := range l.entries[:n] {
		b.WriteString(l.entries[i].note)
	}
	return b.String()
}

// Point picks a position for a crash after the first entries; from is the number of these entries.
// The position is random, or right after a note, where a missing flush does most harm, or right
// before a flush, when the cache is fullest.
func (l *WriteLog) Point(rng *rand.Rand, from int) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := from + 1 + rng.IntN(len(l.entries)-from)
	way := rng.IntN(3)
	for i := n; i < len(l.entries) && way > 0; i++ {
		switch e := &l.entries[i]; {
		case way == 1 && e.note != "":
			return i + 1
		case way == 2 && e.flush():
			return i
		}
	}
	return n
}

// Crash describes what a crash left of a disk's cache.
type Crash struct {
	At        int // number of entries before the crash
	Unflushed int // number of writes in these entries that no flush followed
	Kept      int // number of the unflushed writes that are on the medium, completely or in part
	Torn      int // number of the unflushed writes that are on the medium in part
}

// Crash applies to a base the writes that are on the medium if the power fails after n entries: all
// flushed writes, and any selection of the other writes. A disk may write them in any order, so any
// subset of their sectors may be on the medium. A sector that was written twice never has the older
// content if the newer content was written. If ignoresFlush is true, the disk ignores all flushes.
func (l *WriteLog) Crash(rng *rand.Rand, base []byte, n int, ignoresFlush bool) (*Image, Crash) {
	l.mu.Lock()
	defer l.mu.Unlock()
	flushed := 0
	for i := n - 1; i >= 0 && flushed == 0 && !ignoresFlush; i-- {
		if l.entries[i].flush() {
			flushed = i
		}
	}
	m, c := NewImage(base), Crash{At: n}
	keep := [...]float64{0, 0.1, 0.5, 0.9, 1}[rng.IntN(5)]
	tears := rng.IntN(2) == 0
	for i := range l.entries[:n] {
		e := &l.entries[i]
		switch {
		case e.data == nil:
			continue
		case i < flushed:
			m.write(e.data, e.off)
			continue
		}
		c.Unflushed++
		if !tears && rng.Float64() >= keep {
			continue
		}
		kept := len(e.data)
		if tears {
			kept = m.tear(rng, e, keep)
		} else {
			m.write(e.data, e.off)
		}
		if kept > 0 {
			c.Kept++
		}
		if kept > 0 && kept < len(e.data) {
			c.Torn++
		}
	}
	return m, c
}

// Image is the content of a disk: a shared base, and the blocks that differ from it.
type Image struct {
	mu     sync.Mutex
	base   []byte
	blocks map[int64][]byte
}

// NewImage returns an image with the content of base. The size of base must be a multiple of 4,096
// bytes, and base must not be changed afterwards.
func NewImage(base []byte) *Image { return &Image{base: base, blocks: map[int64][]byte{}} }

// tear writes some of the sectors of a write and returns their size in bytes.
func (m *Image) tear(rng *rand.Rand, e *entry, keep float64) (kept int) {
	for at := 0; at < len(e.data); {
		n := min(sector-int((e.off+int64(at))%sector), len(e.data)-at)
		if rng.Float64() < keep {
			m.write(e.data[at:at+n], e.off+int64(at))
			kept += n
		}
		at += n
	}
	return kept
}

// WriteAt implements [io.WriterAt]. It ignores data that is outside of the disk.
func (m *Image) WriteAt(b []byte, off int64) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.write(b, off), nil
}

func (m *Image) write(b []byte, off int64) (n int) {
	for len(b) > 0 && off < int64(len(m.base)) {
		to := m.blocks[off/block]
		if to == nil {
			to = append([]byte{}, m.base[off/block*block:][:block]...)
			m.blocks[off/block] = to
		}
		done := copy(to[off%block:], b)
		b, off, n = b[done:], off+int64(done), n+done
	}
	return n
}

// ReadAt implements [io.ReaderAt], except for the error at the end.
func (m *Image) ReadAt(b []byte, off int64) (n int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for len(b) > 0 && off < int64(len(m.base)) {
		from := m.blocks[off/block]
		if from == nil {
			from = m.base[off/block*block:][:block]
		}
		done := copy(b, from[off%block:])
		b, off, n = b[done:], off+int64(done), n+done
	}
	return n, nil
}

// Size returns the size of the disk in bytes.
func (m *Image) Size() int64 { return int64(len(m.base)) }

// After returns the number of entries up to the first note that begins with a word, or of all
// entries if there is no such note.
func (l *WriteLog) After(word string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range l.entries {
		if strings.HasPrefix(l.entries[i].note, word) {
			return i + 1
		}
	}
	return len(l.entries)
}

// Cut removes all entries after the first n.
func (l *WriteLog) Cut(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries = l.entries[:n]
}
