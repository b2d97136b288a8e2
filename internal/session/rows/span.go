package rows

import (
	"fmt"
	"math"

	"github.com/holdfast-dev/holdfast/session"
)

// ReadRange is what is left of a read: the records with a seq above Low and not above High, no
// more of them than Left.
type ReadRange struct {
	Low, High int64
	Reverse   bool // the last one first
	Remaining int64
}

// ReadResult is a record, or why it cannot be read.
type ReadResult struct {
	session.Record
	Err error
}

// NewSpan is all that a range asks for.
func NewSpan(r session.Range) ReadRange {
	s := ReadRange{Low: max(r.After, 0), High: MaxSeq, Reverse: r.Reverse, Remaining: math.MaxInt64}
	if r.Until > 0 {
		s.High = min(r.Until, MaxSeq)
	}
	if r.Limit > 0 {
		s.Remaining = int64(r.Limit)
	}
	return s
}

// Within bounds it by what the session has: the records above below, up to head.
func (s *ReadRange) Within(below, head int64) {
	s.Low, s.High = max(s.Low, below), min(s.High, head)
}

// More reports whether something is left.
func (s *ReadRange) More() bool { return s.Remaining > 0 && s.Low < s.High }

// Turn is the seq of the record that comes next.
func (s *ReadRange) Turn() int64 {
	if s.Reverse {
		return s.High
	}
	return s.Low + 1
}

// Pass moves on behind what was found, in its order, and returns what of that comes before
// the first record that is missing.
func (s *ReadRange) Pass(found []ReadResult) []ReadResult {
	for i := range found {
		if found[i].Seq != s.Turn() {
			return found[:i]
		}
		s.step(found[i].Seq)
	}
	return found
}

// step moves on behind a record.
func (s *ReadRange) step(seq int64) {
	if s.Reverse {
		s.High = seq - 1
	} else {
		s.Low = seq
	}
	s.Remaining--
}

// MarkLost moves on behind the record whose turn it is and that is not there, and behind those
// that are not either; top is the last that is.
func (s *ReadRange) MarkLost(id string, top int64) ReadResult {
	seq := s.Turn()
	detail := "it is missing"
	if seq > top {
		detail = fmt.Sprintf("it is missing, and so are all behind %d", top)
	}
	s.step(seq)
	switch {
	case s.Reverse:
		s.High = min(s.High, max(top, s.Low))
	case seq > top:
		s.Low = s.High
	}
	return ReadResult{session.Record{Seq: seq}, Damaged(id, seq, detail)}
}
