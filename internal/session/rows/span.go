package rows

import (
	"fmt"
	"math"

	"github.com/holdfast-dev/holdfast/session"
)

// Span is what is left of a read: the records with a seq above Low and not above High, no
// more of them than Left.
type Span struct {
	Low, High int64
	Down      bool // the last one first
	Left      int64
}

// Found is a record, or why it cannot be read.
type Found struct {
	session.Record
	Err error
}

// NewSpan is all that a range asks for.
func NewSpan(r session.Range) Span {
	s := Span{Low: max(r.After, 0), High: MaxSeq, Down: r.Reverse, Left: math.MaxInt64}
	if r.Until > 0 {
		s.High = min(r.Until, MaxSeq)
	}
	if r.Limit > 0 {
		s.Left = int64(r.Limit)
	}
	return s
}

// Within bounds it by what the session has: the records above below, up to head.
func (s *Span) Within(below, head int64) {
	s.Low, s.High = max(s.Low, below), min(s.High, head)
}

// More reports whether something is left.
func (s *Span) More() bool { return s.Left > 0 && s.Low < s.High }

// Turn is the seq of the record that comes next.
func (s *Span) Turn() int64 {
	if s.Down {
		return s.High
	}
	return s.Low + 1
}

// Pass moves on behind what was found, in its order, and returns what of that comes before
// the first record that is missing.
func (s *Span) Pass(found []Found) []Found {
	for i := range found {
		if found[i].Seq != s.Turn() {
			return found[:i]
		}
		s.step(found[i].Seq)
	}
	return found
}

// step moves on behind a record.
func (s *Span) step(seq int64) {
	if s.Down {
		s.High = seq - 1
	} else {
		s.Low = seq
	}
	s.Left--
}

// Lose moves on behind the record whose turn it is and that is not there, and behind those
// that are not either; top is the last that is.
func (s *Span) Lose(id string, top int64) Found {
	seq := s.Turn()
	detail := "it is missing"
	if seq > top {
		detail = fmt.Sprintf("it is missing, and so are all behind %d", top)
	}
	s.step(seq)
	switch {
	case s.Down:
		s.High = min(s.High, max(top, s.Low))
	case seq > top:
		s.Low = s.High
	}
	return Found{session.Record{Seq: seq}, Damaged(id, seq, detail)}
}
