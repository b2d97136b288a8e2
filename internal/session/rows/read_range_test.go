package rows_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/session/rows"
	"github.com/holdfast-dev/holdfast/session"
)

// A range is read to its end, whichever records exist, with one error for each missing record
// and one for all missing records at the end.
func TestReadRange(t *testing.T) {
	for name, tt := range map[string]struct {
		r           session.Range
		below, head int64
		gone        []int64
		want        []int64 // seqs as they are read; those below 0 are missing
	}{
		"all":                  {session.Range{}, 0, 4, nil, []int64{1, 2, 3, 4}},
		"none":                 {session.Range{After: 4}, 0, 4, nil, nil},
		"a fork's own":         {session.Range{}, 2, 4, nil, []int64{3, 4}},
		"some":                 {session.Range{After: 1, Until: 3}, 0, 9, nil, []int64{2, 3}},
		"down":                 {session.Range{Reverse: true}, 0, 3, nil, []int64{3, 2, 1}},
		"the last two":         {session.Range{Reverse: true, Limit: 2}, 0, 9, nil, []int64{9, 8}},
		"one is missing":       {session.Range{}, 0, 4, []int64{2}, []int64{1, -2, 3, 4}},
		"down to it":           {session.Range{Reverse: true}, 0, 4, []int64{2}, []int64{4, 3, -2, 1}},
		"the end is missing":   {session.Range{}, 0, 4, []int64{3, 4}, []int64{1, 2, -3}},
		"down from there":      {session.Range{Reverse: true}, 0, 4, []int64{3, 4}, []int64{-4, 2, 1}},
		"a missing one counts": {session.Range{Limit: 2}, 0, 4, []int64{2}, []int64{1, -2}},
	} {
		s := rows.NewReadRange(tt.r)
		s.Within(tt.below, tt.head)
		var got []int64
		for s.More() {
			var found []rows.ReadResult
			top := int64(0)
			for seq := int64(1); seq <= tt.head; seq++ {
				if slices.Contains(tt.gone, seq) {
					continue
				}
				top = seq
				if seq > s.Low && seq <= s.High {
					found = append(found, rows.ReadResult{Record: session.Record{Seq: seq}})
				}
			}
			if s.Reverse {
				slices.Reverse(found)
			}
			found = found[:min(int64(len(found)), s.Remaining, 3)] // a chunk
			if found = s.Pass(found); len(found) == 0 {
				lost := s.MarkLost("s", top)
				if !errors.Is(lost.Err, session.ErrCorrupt) {
					t.Errorf("%s: %v", name, lost.Err)
				}
				got = append(got, -lost.Seq)
				continue
			}
			for _, f := range found {
				got = append(got, f.Seq)
			}
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

func ExampleNewReadRange() {
	s := rows.NewReadRange(session.Range{Until: 3})
	s.Within(0, 9) // what the session has
	for s.More() {
		found := []rows.ReadResult{{Record: session.Record{Seq: s.NextSeq()}}} // as a table gives them
		for _, f := range s.Pass(found) {
			fmt.Println(f.Seq)
		}
	}
	// Output:
	// 1
	// 2
	// 3
}
