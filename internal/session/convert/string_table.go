package convert

import (
	"bytes"
	"hash/maphash"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
)

// The long strings of an item are stored only once: in the original lines they are replaced by
// their number among all strings of the item, not counting member names.
//
//	item  {"role":"user","id":"a","parts":[{"type":"text","text":"a long text"}],
//	line   "metadata":{"import":[{"n":7,"short":{"uuid":"a","content":"[import:3]"},"of":4}]}}
//
// The member "of" is the number of strings that the item had when it was stored. A masked string
// keeps its number; if a string was removed, the numbers are no longer valid.
const (
	standInStart   = `"[import:`
	standInEnd     = `]"`
	minTableString = 64 // minimum length of such a string in bytes, with quotes
	maxUses        = 4  // maximum number of uses of one string, so that no record expands to far more than its size
)

// stringTable has the strings of an item.
type stringTable struct {
	seed maphash.Seed
	long map[uint64]*tableEntry
	of   int
}

type tableEntry struct {
	lit  []byte
	n    int
	uses int
}

func newStringTable() *stringTable {
	return &stringTable{seed: maphash.MakeSeed(), long: map[uint64]*tableEntry{}}
}

// fill adds the strings of an item in its stored form.
func (s *stringTable) fill(item []byte) {
	clear(s.long)
	s.of = 0
	eachString(item, func(from, to int) bool {
		if lit := item[from:to]; len(lit) >= minTableString {
			if sum := maphash.Bytes(s.seed, lit); s.long[sum] == nil {
				s.long[sum] = &tableEntry{lit: lit, n: s.of}
			}
		}
		s.of++
		return true
	})
}

// appendLine writes a line without the strings that are in s.
func (s *stringTable) appendLine(b, line []byte) []byte {
	start, at := len(b), 0
	if s != nil && len(s.long) > 0 {
		clash := false
		b = append(b, `,"short":`...)
		eachString(line, func(from, to int) bool {
			lit := line[from:to]
			clash = bytes.HasPrefix(lit, []byte(standInStart))
			if len(lit) < minTableString || clash {
				return !clash
			}
			if have := s.long[maphash.Bytes(s.seed, lit)]; have != nil && have.uses < maxUses && bytes.Equal(have.lit, lit) {
				have.uses++
				b = append(append(b, line[at:from]...), standInStart...)
				b = append(strconv.AppendInt(b, int64(have.n), 10), standInEnd...)
				at = to
			}
			return true
		})
		if clash {
			at = 0
		}
	}
	if at == 0 {
		b = append(b[:start], `,"json":`...)
		return append(b, line...)
	}
	b = append(append(b, line[at:]...), `,"of":`...)
	return strconv.AppendInt(b, int64(s.of), 10)
}

// itemStrings are the strings of a stored item.
type itemStrings struct {
	lits [][]byte
	uses []uint8
}

func newItemStrings(item []byte) *itemStrings {
	s := &itemStrings{}
	eachString(headOf(item), func(from, to int) bool {
		s.lits = append(s.lits, item[from:to])
		return true
	})
	s.uses = make([]uint8, len(s.lits))
	return s
}

// fill restores the strings of an item in a line. If the item has fewer strings than before,
// [record.Erased] takes their place. It returns nil if a string is used more often than an
// import does.
func (s *itemStrings) fill(line []byte, of int) []byte {
	var b []byte
	at, ok := 0, true
	eachString(line, func(from, to int) bool {
		v, is := bytes.CutPrefix(line[from:to], []byte(standInStart))
		if !is {
			return true
		}
		b = append(b, line[at:from]...)
		at = to
		n, err := strconv.Atoi(string(bytes.TrimSuffix(v, []byte(standInEnd))))
		if err != nil || n < 0 || n >= len(s.lits) || of != len(s.lits) {
			b = jsonscan.AppendString(b, record.Erased)
			return true
		}
		s.uses[n]++
		ok = s.uses[n] <= maxUses
		b = append(b, s.lits[n]...)
		return ok
	})
	if !ok {
		return nil
	}
	return append(b, line[at:]...)
}
