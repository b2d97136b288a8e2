package crashtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/holdfast-dev/holdfast/session"
)

// Evidence contains the acks so far, by session and seq.
type Evidence map[string]map[int64]Ack

// Add adds the acks of a child.
func (e Evidence) Add(acks []Ack) {
	for _, a := range acks {
		if e[a.Session] == nil {
			e[a.Session] = map[int64]Ack{}
		}
		e[a.Session][a.Seq] = a
	}
}

// Finding is the result of a verification.
type Finding struct {
	Records int      // records read
	Lost    int      // acknowledged records that are missing or different
	Unacked int      // stored records that were not reported, because the report was lost when the child was killed
	Reran   int      // tool uses that ran or started more than once
	Unknown int      // tool uses whose result says that the outcome is unknown
	Problem []string // a description of each fault
}

func (f *Finding) wrong(format string, args ...any) {
	f.Problem = append(f.Problem, fmt.Sprintf(format, args...))
}

// Verify reads every session from a store and compares it with the child's reports and with the
// ledger at path. It does not change the store.
func Verify(ctx context.Context, store session.Store, acked Evidence, ledger string) (*Finding, error) {
	ran, err := ReadLedger(ledger)
	if err != nil {
		return nil, err
	}
	f := &Finding{}
	ids := slices.Sorted(maps.Keys(acked))
	for id := range ran {
		if acked[id] == nil {
			ids = append(ids, id)
		}
	}
	for _, id := range ids {
		f.verify(ctx, session.New(store, nil), id, acked[id], ran[id])
	}
	return f, nil
}

func (f *Finding) verify(ctx context.Context, sessions *session.Sessions, id string, acked map[int64]Ack, ran map[string]Runs) {
	recs, err := read(ctx, sessions, id)
	if errors.Is(err, session.ErrNotFound) && len(acked) == 0 {
		err = nil
	}
	if err != nil {
		f.wrong("session %s: %v", id, err)
	}
	f.Records += len(recs)
	f.Unacked += max(0, len(recs)-len(acked))
	f.compare(id, recs, acked)
	f.meta(ctx, sessions, id, recs)
	f.tools(id, recs, ran)
}

// compare compares the acknowledged records of a session with the stored ones.
func (f *Finding) compare(id string, recs []session.Record, acked map[int64]Ack) {
	for seq, a := range acked {
		if seq > int64(len(recs)) {
			f.Lost++
			f.wrong("session %s: record %d was acknowledged but is missing", id, seq)
		} else if r := recs[seq-1]; r.Digest != a.Digest || r.ID != a.ID {
			f.Lost++
			f.wrong("session %s: record %d is not the one that was acknowledged", id, seq)
		}
	}
}

// read returns the records of a session up to the first damaged record.
func read(ctx context.Context, sessions *session.Sessions, id string) ([]session.Record, error) {
	var recs []session.Record
	prev := &session.Record{}
	for r, err := range sessions.Records(ctx, id, session.Range{}) {
		if err != nil {
			return recs, err
		}
		if err := r.CheckAfter(prev); err != nil {
			return recs, err
		}
		recs = append(recs, r)
		prev = &recs[len(recs)-1]
	}
	return recs, nil
}

// meta compares the stored metadata with the metadata that results from the records.
func (f *Finding) meta(ctx context.Context, sessions *session.Sessions, id string, recs []session.Record) {
	if len(recs) == 0 {
		return
	}
	got, err := sessions.Get(ctx, id)
	if err != nil {
		f.wrong("session %s has records but no metadata: %v", id, err)
		return
	}
	delta, err := session.Fold(recs)
	if err != nil {
		f.wrong("session %s: %v", id, err)
		return
	}
	if want := (session.Meta{}).Apply(delta); !sameMeta(got, want) {
		f.wrong("session %s: the metadata is\n%+v but the records give\n%+v", id, got, want)
	}
}

func sameMeta(a, b session.Meta) bool {
	sameTimes := a.CreatedAt.Equal(b.CreatedAt) && a.UpdatedAt.Equal(b.UpdatedAt)
	b.CreatedAt, b.UpdatedAt = a.CreatedAt, a.UpdatedAt
	return sameTimes && reflect.DeepEqual(a, b)
}
