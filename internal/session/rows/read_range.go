package rows

import (
	"fmt"
	"math"

	"github.com/holdfast-dev/holdfast/session"
)

// ReadRange is the rest of a read: at most Remaining records with Low < seq <= High.
type ReadRange struct {
	Low, High int64
	Reverse   bool // newest first
	Remaining int64
}

// ReadResult is a record, or the error of an unreadable one.
type ReadResult struct {
	session.Record
	Err error
}

// NewReadRange returns the range of a read.
func NewReadRange(r session.Range) ReadRange {
	s := ReadRange{Low: max(r.After, 0), High: MaxSeq, Reverse: r.Reverse, Remaining: math.MaxInt64}
	if r.Until > 0 {
		s.High = min(r.Until, MaxSeq)
	}
	if r.Limit > 0 {
		s.Remaining = int64(r.Limit)
	}
	return s
}

// Within limits the range to the session's records: those with below < seq <= head.
func (s *ReadRange) Within(below, head int64) {
	s.Low, s.High = max(s.Low, below), min(s.High, head)
}

// More reports whether anything is left.
func (s *ReadRange) More() bool { return s.Remaining > 0 && s.Low < s.High }

// NextSeq returns the seq of the next record.
func (s *ReadRange) NextSeq() int64 {
	if s.Reverse {
		return s.High
	}
	return s.Low + 1
}

// Pass advances past the records in found, which are in order, and returns the records before the
// first missing one.
func (s *ReadRange) Pass(found []ReadResult) []ReadResult {
	for i := range found {
		if found[i].Seq != s.NextSeq() {
			return found[:i]
		}
		s.step(found[i].Seq)
	}
	return found
}

// step advances past a record.
func (s *ReadRange) step(seq int64) {
	if s.Reverse {
		s.High = seq - 1
	} else {
		s.Low = seq
	}
	s.Remaining--
}

// MarkLost advances past the next record, which is missing, and past the missing records that
// follow it. The parameter top is the last existing seq.
func (s *ReadRange) MarkLost(id string, top int64) ReadResult {
	seq := s.NextSeq()
	detail := "the record is missing"
	if seq > top {
		detail = fmt.Sprintf("all records after %d are missing", top)
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
