package crashtest

import (
	"context"
	"errors"
	"maps"
	"math"
	"os"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// VerifyPast compares a store with everything that it acknowledged: records, erasures, deletions,
// leases. After that, it appends to each remaining session and compares again.
func VerifyPast(ctx context.Context, store session.Store, p *Acknowledged) *Finding {
	f := &Finding{}
	sessions := session.New(store, nil)
	f.all(ctx, sessions, p)
	if len(f.Problem) > 0 {
		return f
	}
	for _, id := range slices.Sorted(maps.Keys(p.Acked)) {
		f.leases(ctx, store, p, id)
		if err := p.next(ctx, sessions, id); err != nil {
			f.wrong("session %s cannot be continued: %v", id, err)
		}
	}
	again := &Finding{}
	again.all(ctx, sessions, p)
	f.Problem = append(f.Problem, again.Problem...)
	return f
}

func (f *Finding) all(ctx context.Context, sessions *session.Sessions, p *Acknowledged) {
	for _, id := range slices.Sorted(maps.Keys(p.Acked)) {
		acked := p.Acked[id]
		recs, err := read(ctx, sessions, id)
		switch {
		case errors.Is(err, session.ErrNotFound) && p.Deleting[id]:
			continue
		case err == nil && p.Deleted[id]:
			f.wrong("session %s was deleted but still exists with %d records", id, len(recs))
			continue
		case err != nil:
			f.wrong("session %s: %v", id, err)
		}
		f.Records += len(recs)
		f.Unacked += max(0, len(recs)-len(acked)-parents(acked))
		f.compare(id, recs, acked)
		f.erased(id, recs, p.Erased[id])
		f.report(ctx, sessions, id)
	}
}

// parents returns how many records of a session belong to its parent.
func parents(acked map[int64]Ack) int {
	first := int64(math.MaxInt64)
	for seq := range acked {
		first = min(first, seq)
	}
	return int(first - 1)
}

func (f *Finding) erased(id string, recs []session.Record, seqs []int64) {
	for _, seq := range seqs {
		if seq <= int64(len(recs)) && recs[seq-1].Payload != nil {
			f.wrong("session %s: record %d was erased but still has its payload", id, seq)
		}
	}
}

// report runs the session's own verification.
func (f *Finding) report(ctx context.Context, sessions *session.Sessions, id string) {
	r, err := sessions.Verify(ctx, id)
	if err != nil {
		f.wrong("session %s: %v", id, err)
		return
	}
	for _, fault := range r.Faults {
		f.wrong("session %s: verify: record %d: %s", id, fault.Seq, fault.Detail)
	}
	if r.MetaDiffers {
		f.wrong("session %s: the metadata is\n%+v but the records give\n%+v", id, r.Meta, r.Rebuilt)
	}
}

// leases acquires a lease and compares its epoch with the epochs of earlier leases.
func (f *Finding) leases(ctx context.Context, store session.Store, p *Acknowledged, id string) {
	leaser, ok := session.As[session.Leaser](store)
	if !ok || p.Deleting[id] && !p.Deleted[id] {
		return
	}
	now := time.Now()
	want := session.Lease{Holder: session.Holder{ID: "verify", PID: os.Getpid()}, Since: now, Expires: now.Add(time.Minute)}
	got, err := leaser.Acquire(ctx, id, want, func(session.Lease) bool { return true })
	if p.Deleted[id] && errors.Is(err, session.ErrExists) { // forks need its records
		return
	}
	if err != nil {
		f.wrong("session %s: its lease cannot be taken: %v", id, err)
		return
	}
	if got.Epoch <= p.Leases[id] {
		f.wrong("session %s: the lease has epoch %d, but epoch %d was already used", id, got.Epoch, p.Leases[id])
	}
	p.Leases[id] = got.Epoch
	if err := leaser.Release(ctx, id, got); err != nil {
		f.wrong("session %s: its lease cannot be released: %v", id, err)
	}
}

// next appends to a session and adds the acknowledgements.
func (p *Acknowledged) next(ctx context.Context, sessions *session.Sessions, id string) (err error) {
	if p.Deleted[id] {
		return nil
	}
	l, err := sessions.Open(ctx, id, nil)
	if errors.Is(err, session.ErrNotFound) && p.Deleting[id] {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	title := "went on"
	recs, err := l.Append(ctx, draft(record.KindMetaChanged, session.MetaPatch{Title: &title}))
	for _, r := range recs {
		p.Acked[id][r.Seq] = Ack{Session: id, Seq: r.Seq, ID: r.ID, Digest: r.Digest}
	}
	return err
}
