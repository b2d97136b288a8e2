//go:build linux

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// sessions measures what must not depend on size: the tail and the fork of a
// big session, and the newest of many sessions.
func (b *bench) sessions(ctx context.Context) error {
	store, err := openSQLite(b.dir)
	if err != nil {
		return err
	}
	defer closeStore(store)
	if err := b.bigSession(ctx, "SQLite", store); err != nil {
		return err
	}
	if err := b.manySessions(ctx, store); err != nil {
		return err
	}
	files, err := openFile(b.dir)
	if err != nil {
		return err
	}
	defer closeStore(files)
	return b.bigSession(ctx, "file", files)
}

func (b *bench) bigSession(ctx context.Context, name string, store session.Store) error {
	items := b.rounds(700_000, 70_000)
	size := fmt.Sprintf("%d MB", items*itemBytes/1_000_000)
	s := session.New(store, nil)
	log, err := s.Create(ctx, session.Opened{SessionID: "big"})
	if err != nil {
		return err
	}
	if err := fill(ctx, s, log, items); err != nil {
		return err
	}
	if err := log.Close(); err != nil {
		return err
	}
	var tails, forks []time.Duration
	for i := range 21 {
		t0 := time.Now()
		got, err := s.Load(ctx, "big", &session.LoadOptions{Limit: 50})
		if err != nil || len(got.Items) != 50 {
			return fmt.Errorf("tail: %d items, %w", len(got.Items), err)
		}
		t1 := time.Now()
		if _, err := s.Fork(ctx, "big", &session.ForkOptions{ID: fmt.Sprint("fork-", i)}); err != nil {
			return err
		}
		tails, forks = append(tails, t1.Sub(t0)), append(forks, time.Since(t1))
	}
	b.add("tail of 50 from "+size+", "+name, micros(median(tails)), "", "", "≤ 5 ms")
	b.add("fork of "+size+", "+name, micros(median(forks)), "", "", "≤ 5 ms")
	return nil
}

func (b *bench) manySessions(ctx context.Context, store session.Store) error {
	n := b.rounds(100_000, 5_000)
	s := session.New(store, nil)
	work := make(chan int)
	errs := make(chan error, 32)
	for range cap(errs) {
		go func() {
			var first error
			for range work {
				if err := create(ctx, store, s); err != nil && first == nil {
					first = err
				}
			}
			errs <- first
		}()
	}
	for i := range n {
		work <- i
	}
	close(work)
	for range cap(errs) {
		if err := <-errs; err != nil {
			return err
		}
	}
	var lists []time.Duration
	for range 21 {
		t0 := time.Now()
		page, err := s.List(ctx, session.Query{Limit: 50})
		if err != nil || len(page.Sessions) != 50 {
			return fmt.Errorf("list: %d sessions, %w", len(page.Sessions), err)
		}
		lists = append(lists, time.Since(t0))
	}
	b.add(fmt.Sprintf("newest 50 of %d sessions, SQLite", n), micros(median(lists)), "", "", "≤ 3 ms")
	return nil
}

// create appends a session's first record and nothing else; taking and giving
// back a lease each time would only make the preparation longer.
func create(ctx context.Context, store session.Store, s *session.Sessions) error {
	id := s.NewID()
	d, err := session.NewDraft(session.KindOpened, session.Opened{Format: session.FormatVersion, SessionID: id, Created: time.Unix(1_700_000_000, 0)})
	if err != nil {
		return err
	}
	recs := []session.Record{{Seq: 1, ID: s.NewID(), Time: time.Unix(1_700_000_000, 0), Kind: d.Kind, Payload: d.Payload}}
	recs[0].Seal(session.Digest{})
	delta, err := session.Fold(recs)
	if err != nil {
		return err
	}
	return store.Append(ctx, id, session.Batch{Records: recs, Delta: delta})
}
