//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// largeSessionLimits lists the backends for which large sessions are measured, with the limit for reading a
// tail.
var largeSessionLimits = map[string]time.Duration{
	"SQLite": 5 * time.Millisecond, "file": 5 * time.Millisecond, "PostgreSQL": 10 * time.Millisecond,
}

const (
	forkTime  = 5 * time.Millisecond
	forkBytes = 64 << 10
	listTime  = 3 * time.Millisecond
)

// sessions measures operations that must not depend on size: the tail and the fork of a large
// session, and the list of the newest of many sessions.
func (b *bench) sessions(ctx context.Context) error {
	for _, be := range b.availableBackends() {
		if largeSessionLimits[be.name] == 0 {
			continue
		}
		err := b.withPlace(ctx, be, func(p *place) error {
			if err := b.bigSession(ctx, be.name, p); err != nil || be.name != "SQLite" {
				return err
			}
			return b.manySessions(ctx, p)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) bigSession(ctx context.Context, name string, p *place) error {
	items := b.rounds(700_000, 20_000)
	size := fmt.Sprintf("%d MB", items*itemBytes/1_000_000)
	err := withSessions(ctx, p, func(s *session.Sessions) error {
		log, err := s.Create(ctx, session.Opened{SessionID: "big"})
		if err != nil {
			return err
		}
		return errors.Join(fill(ctx, s, log, items), log.Close())
	})
	if err != nil {
		return err
	}
	before, err := p.size(ctx)
	if err != nil {
		return err
	}
	var tails, forks []time.Duration
	err = withSessions(ctx, p, func(s *session.Sessions) error {
		tails, forks, err = tailsAndForks(ctx, s)
		return err
	})
	if err != nil {
		return err
	}
	after, err := p.size(ctx)
	if err != nil {
		return err
	}
	each := (after - before) / int64(len(forks))
	b.add("tail of 50 from "+size+", "+name, spread(tails), "", "",
		goal("p50 "+limitText(largeSessionLimits[name]), median(tails) <= largeSessionLimits[name]))
	b.add("fork of "+size+", "+name, fmt.Sprintf("%s, %.1f KiB on disk", spread(forks), float64(each)/1024), "", "",
		goal("p50 "+limitText(forkTime)+", ≤ 64 KiB", median(forks) <= forkTime && each <= forkBytes))
	return nil
}

func limitText(d time.Duration) string { return fmt.Sprintf("≤ %d ms", d.Milliseconds()) }

// withSessions opens a place's store for f and closes it.
func withSessions(ctx context.Context, p *place, f func(*session.Sessions) error) error {
	store, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer closeStore(store)
	return f(session.New(store, nil))
}

func tailsAndForks(ctx context.Context, s *session.Sessions) (tails, forks []time.Duration, err error) {
	for i := range 101 {
		begun := time.Now()
		got, err := s.Load(ctx, "big", &session.LoadOptions{Limit: 50})
		tails = append(tails, time.Since(begun))
		if err != nil {
			return nil, nil, err
		}
		if len(got.Items) != 50 {
			return nil, nil, fmt.Errorf("the tail has %d items", len(got.Items))
		}
		begun = time.Now()
		if _, err := s.Fork(ctx, "big", &session.ForkOptions{ID: fmt.Sprint("fork-", i)}); err != nil {
			return nil, nil, err
		}
		forks = append(forks, time.Since(begun))
	}
	return tails, forks, nil
}

// manySessions measures listing the newest of many sessions in a store that also has the large
// session.
func (b *bench) manySessions(ctx context.Context, p *place) error {
	n := b.rounds(100_000, 10_000)
	store, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer closeStore(store)
	s := session.New(store, nil)
	if err := createMany(ctx, store, s, n); err != nil {
		return err
	}
	var lists []time.Duration
	for range 101 {
		begun := time.Now()
		page, err := s.List(ctx, session.Query{Limit: 50})
		lists = append(lists, time.Since(begun))
		if err != nil {
			return err
		}
		if len(page.Sessions) != 50 {
			return fmt.Errorf("the list has %d sessions", len(page.Sessions))
		}
	}
	b.add(fmt.Sprintf("newest 50 of %d sessions, SQLite", n), spread(lists), "", "",
		goal("p50 "+limitText(listTime), median(lists) <= listTime))
	return nil
}

// createMany creates n sessions, some concurrently. The order in which sessions were updated
// differs from the order in which they were created.
func createMany(ctx context.Context, store session.Store, s *session.Sessions, n int) error {
	const at = 32
	errs := make(chan error, at)
	for w := range at {
		go func() {
			for i := w; i < n; i += at {
				if err := create(ctx, store, s, time.Unix(1_700_000_000+int64(i)*7919%int64(n), 0)); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	var all error
	for range at {
		all = errors.Join(all, <-errs)
	}
	return all
}

// create appends only a session's first record; acquiring and releasing a lease each time would
// only make the preparation longer.
func create(ctx context.Context, store session.Store, s *session.Sessions, at time.Time) error {
	id := s.NewID()
	d, err := session.NewDraft(record.KindOpened, session.Opened{Format: record.FormatVersion, SessionID: id, Created: at})
	if err != nil {
		return err
	}
	recs := []session.Record{{Seq: 1, ID: s.NewID(), Time: at, Kind: d.Kind, Payload: d.Payload}}
	recs[0].Seal(session.Digest{})
	delta, err := session.Fold(recs)
	if err != nil {
		return err
	}
	return store.Append(ctx, id, session.Batch{Records: recs, Delta: delta})
}
