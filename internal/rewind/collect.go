package rewind

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// savedFile is a file.saved record without its content.
type savedFile struct {
	record.FileSaved
	session string
	seq     int64
	time    time.Time
	hasData bool   // the record itself contains the content
	missing string // the reason why the file cannot be restored from the record, or ""
	order   int64  // position relative to the log of the rewound session; noEnd if only the time is known
}

// runSessions are the sessions whose logs contain the work of a session: the session itself and the
// sessions it was forked from. The value is the seq at which the fork was made, or noEnd for the
// session itself.
type runSessions map[string]int64

const noEnd = int64(1)<<62 - 1

// collect returns the file.saved records that the session and its sub-agents wrote after a record,
// in the order in which they were written.
func collect(ctx context.Context, s *session.Sessions, m session.Meta, to int64) ([]savedFile, error) {
	first, err := read(ctx, s, m.ID, session.Range{After: to})
	if err != nil {
		return nil, err
	}
	for i := range first {
		first[i].order = 2 * first[i].seq
	}
	lists := [][]savedFile{first}
	lineage, err := lineageOf(ctx, s, m, to)
	if err != nil {
		return nil, err
	}
	subagents, err := subagentsOf(ctx, s, m, lineage)
	if err != nil {
		return nil, err
	}
	var began time.Time
	for r, err := range s.Records(ctx, m.ID, session.Range{After: to - 1, Until: to}) {
		if err != nil {
			return nil, err
		}
		began = r.Time
	}
	for _, w := range subagents {
		all, err := read(ctx, s, w.ID, session.Range{After: w.ParentSeq})
		if err != nil {
			return nil, err
		}
		var list []savedFile
		for _, f := range all {
			if lineage.later(&f, w.Owner, to, began) {
				list = append(list, f)
			}
		}
		lists = append(lists, list)
	}
	return merge(lists), nil
}

// read returns the file.saved records of one log.
func read(ctx context.Context, s *session.Sessions, id string, r session.Range) ([]savedFile, error) {
	var list []savedFile
	for rec, err := range s.Effective(ctx, id, r) {
		if err != nil {
			return nil, err
		}
		if rec.Kind != record.KindFileSaved {
			continue
		}
		f := savedFile{session: id, seq: rec.Seq, time: rec.Time}
		if rec.Payload == nil || json.Unmarshal(rec.Payload, &f.FileSaved) != nil {
			f.Path = fmt.Sprintf("(record %d of session %s)", rec.Seq, id)
			f.missing = "the record was erased, so the file is unknown"
		}
		if f.Omitted == record.OmittedMasked && !f.Existed {
			f.missing = "the path contains a secret and was not stored"
		}
		f.hasData, f.Data = f.Data != "", ""
		list = append(list, f)
	}
	return list, nil
}

// lineageOf returns the session and the sessions from which it was forked after a record.
func lineageOf(ctx context.Context, s *session.Sessions, m session.Meta, to int64) (runSessions, error) {
	lineage := runSessions{m.ID: noEnd}
	for m.Parent != "" && m.ParentSeq > to {
		if _, seen := lineage[m.Parent]; seen {
			break
		}
		lineage[m.Parent] = m.ParentSeq
		parent, err := s.Get(ctx, m.Parent)
		if errors.Is(err, session.ErrNotFound) { // the parent was deleted, but its records remain
			break
		}
		if err != nil {
			return nil, err
		}
		m = parent
	}
	return lineage, nil
}

// subagentsOf returns the sessions of sub-agents that may have worked for a lineage. The owner of a
// sub-agent is the session of the run.
func subagentsOf(ctx context.Context, s *session.Sessions, m session.Meta, lineage runSessions) ([]session.Meta, error) {
	var (
		list  []session.Meta
		asked = map[string]bool{}
		known = map[string]bool{m.ID: true}
		todo  []string
	)
	for id := range lineage {
		todo = append(todo, id)
	}
	if m.Owner != "" {
		todo = append(todo, m.Owner)
	}
	for len(todo) > 0 {
		owner := todo[0]
		todo = todo[1:]
		if asked[owner] {
			continue
		}
		asked[owner] = true
		q := session.Query{Owner: owner, Worktrees: true, WithTrash: true, Limit: 200}
		for {
			page, err := s.List(ctx, q)
			if err != nil {
				return nil, err
			}
			for _, w := range page.Sessions {
				if !known[w.ID] {
					known[w.ID] = true
					list = append(list, w)
					todo = append(todo, w.ID)
				}
			}
			if page.Next == "" {
				break
			}
			q.After = page.Next
		}
	}
	return list, nil
}

// later reports whether a sub-agent saved f for the lineage after record to, and sets the order of
// f. If f does not contain the log heads of the sub-agent's parents, the time of f is compared with
// the time of record to, which is began.
func (lineage runSessions) later(f *savedFile, owner string, to int64, began time.Time) bool {
	for _, h := range f.ParentHeads {
		if end, ok := lineage[h.Session]; ok {
			f.order = 2*h.Seq + 1
			return h.Seq >= to && h.Seq < end
		}
	}
	if _, ok := lineage[owner]; !ok || len(f.ParentHeads) > 0 {
		return false
	}
	f.order = noEnd
	return f.time.After(began)
}

// merge merges the lists of several logs. The order within each list does not change.
func merge(lists [][]savedFile) []savedFile {
	var out []savedFile
	for {
		var first *[]savedFile
		for i := range lists {
			l := &lists[i]
			if len(*l) > 0 && (first == nil || before(&(*l)[0], &(*first)[0])) {
				first = l
			}
		}
		if first == nil {
			return out
		}
		out, *first = append(out, (*first)[0]), (*first)[1:]
	}
}

func before(a, b *savedFile) bool {
	if a.order != b.order && a.order != noEnd && b.order != noEnd {
		return a.order < b.order
	}
	return a.time.Before(b.time)
}
