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
	held    bool   // the record itself has the content
	missing string // why nothing follows from it
	order   int64  // by the log of the session that is taken back
}

// runSessions are the sessions whose logs hold what a session has done: itself, and those
// that it was forked from, each up to a record.
type runSessions map[string]int64

const noEnd = int64(1)<<62 - 1

// collect reads what was saved after a record: by the session and by those that work for
// it, in the order in which it was saved.
func collect(ctx context.Context, s *session.Sessions, m session.Meta, to int64) ([]savedFile, error) {
	own, err := read(ctx, s, m.ID, session.Range{After: to})
	if err != nil {
		return nil, err
	}
	for i := range own {
		own[i].order = 2 * own[i].seq
	}
	lists := [][]savedFile{own}
	kin, err := familyOf(ctx, s, m, to)
	if err != nil {
		return nil, err
	}
	workers, err := workersOf(ctx, s, m, kin)
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
	for _, w := range workers {
		all, err := read(ctx, s, w.ID, session.Range{After: w.ParentSeq})
		if err != nil {
			return nil, err
		}
		var list []savedFile
		for _, f := range all {
			if kin.later(&f, w.Owner, to, began) {
				list = append(list, f)
			}
		}
		lists = append(lists, list)
	}
	return merge(lists), nil
}

// read reads what one log has of files.
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
		f.held, f.Data = f.Data != "", ""
		list = append(list, f)
	}
	return list, nil
}

// familyOf is the session and those that it was forked from after a record.
func familyOf(ctx context.Context, s *session.Sessions, m session.Meta, to int64) (runSessions, error) {
	kin := runSessions{m.ID: noEnd}
	for m.Parent != "" && m.ParentSeq > to {
		if _, twice := kin[m.Parent]; twice {
			break
		}
		kin[m.Parent] = m.ParentSeq
		up, err := s.Get(ctx, m.Parent)
		if errors.Is(err, session.ErrNotFound) { // it was deleted; its records stay
			break
		}
		if err != nil {
			return nil, err
		}
		m = up
	}
	return kin, nil
}

// workersOf lists the sessions that may have worked for a family: those of its owners,
// since a sub-agent's owner is whoever all of the work is for.
func workersOf(ctx context.Context, s *session.Sessions, m session.Meta, kin runSessions) ([]session.Meta, error) {
	var (
		list  []session.Meta
		asked = map[string]bool{}
		known = map[string]bool{m.ID: true}
		todo  []string
	)
	for id := range kin {
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

// later reports whether a worker saved f for the family after record to, and sets its
// order. One that does not say where the logs of those above it ended goes by time.
func (kin runSessions) later(f *savedFile, owner string, to int64, began time.Time) bool {
	for _, h := range f.ParentHeads {
		if end, ok := kin[h.Session]; ok {
			f.order = 2*h.Seq + 1
			return h.Seq >= to && h.Seq < end
		}
	}
	if _, ours := kin[owner]; !ours || len(f.ParentHeads) > 0 {
		return false
	}
	f.order = noEnd
	return f.time.After(began)
}

// merge brings the lists of several logs into one order. Each list keeps its own.
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
