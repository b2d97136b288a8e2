//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/transcript"
)

// itemBytes is the size of an appended item, as in the published reference numbers.
const itemBytes = 1437

func item(id string) transcript.Encoded {
	it := transcript.UserText(strings.Repeat("durable ", itemBytes/8-12))
	it.ID, it.Time = id, time.Unix(1_700_000_000, 0)
	return it.MustEncode()
}

func (b *bench) appends(ctx context.Context) error {
	for _, s := range []struct {
		name string
		open func(string) (session.Store, error)
	}{{"SQLite", openSQLite}, {"file", openFile}} {
		if err := b.appendAlone(ctx, s.name, s.open); err != nil {
			return err
		}
	}
	return b.appendMany(ctx)
}

func openSQLite(dir string) (session.Store, error) {
	return sqlite.Open(filepath.Join(dir, "sessions.db"), nil)
}

func openFile(dir string) (session.Store, error) { return file.Open(filepath.Join(dir, "files"), nil) }

// appendAlone measures one writer. It compares single appends with writes to the bare file, one
// after the other, and the 100,000th append with the 100th.
func (b *bench) appendAlone(ctx context.Context, name string, open func(string) (session.Store, error)) error {
	dir, err := os.MkdirTemp(b.dir, "append-")
	if err != nil {
		return err
	}
	store, err := open(dir)
	if err != nil {
		return err
	}
	defer closeStore(store)
	sessions := session.New(store, nil)
	log, err := sessions.Create(ctx, session.Opened{SessionID: "s"})
	if err != nil {
		return err
	}
	defer log.Close()
	bare, err := newBareFile(filepath.Join(dir, "bare"))
	if err != nil {
		return err
	}
	defer bare.f.Close()
	line := append(bytes.Clone(item("x").JSON), '\n')

	subject := func() (time.Duration, error) {
		d := session.ItemDraft(item(sessions.NewID()), false, nil)
		begun := time.Now()
		_, err := log.Append(ctx, d)
		return time.Since(begun), err
	}
	control := func() (time.Duration, error) {
		begun := time.Now()
		err := bare.append(line)
		return time.Since(begun), err
	}
	if _, _, err := takeTurns(100, subject, control); err != nil {
		return err
	}
	n := b.rounds(3000, 500)
	fresh, bares, err := takeTurns(n, subject, control)
	if err != nil {
		return err
	}
	b.add(fmt.Sprintf("durable append, one writer, %s: p50", name), micros(median(fresh)), "bare append + fdatasync "+micros(median(bares)),
		ratio(median(fresh), median(bares)), goalAtMost(1, "×", share(median(fresh), median(bares))))
	early := float64(median(fresh)) / float64(median(bares))
	if err := fill(ctx, sessions, log, b.rounds(100_000, 5_000)); err != nil {
		return err
	}
	old, bares, err := takeTurns(n, subject, control)
	if err != nil {
		return err
	}
	late := float64(median(old)) / float64(median(bares))
	b.add(fmt.Sprintf("the same after %d items, %s", b.rounds(100_000, 5_000), name), micros(median(old)),
		"the ratio to the bare append, compared with that of the first items", ratioText(late/early), goalAtMost(1.1, "×", late/early))
	return nil
}

// fill appends n items in large batches.
func fill(ctx context.Context, s *session.Sessions, log *session.Log, n int) error {
	const batch = 1000
	for n > 0 {
		var drafts []session.Draft
		for range min(batch, n) {
			drafts = append(drafts, session.ItemDraft(item(s.NewID()), false, nil))
		}
		if _, err := log.Append(ctx, drafts...); err != nil {
			return err
		}
		n -= len(drafts)
	}
	return nil
}

// appendMany measures 64 sessions with one writer each. There are two controls. One is the same
// store with one transaction per item, which is the rate of one writer at a time. The other is one
// thread that writes 64 items per transaction, either into the same tables or only the payloads.
func (b *bench) appendMany(ctx context.Context) error {
	each := b.rounds(300, 60)
	var many, single, rows, tables []float64
	for range b.rounds(3, 1) {
		dir, err := os.MkdirTemp(b.dir, "many-")
		if err != nil {
			return err
		}
		store, err := openSQLite(dir)
		if err != nil {
			return err
		}
		sessions := session.New(store, nil)
		logs := make([]*session.Log, writers)
		for i := range logs {
			if logs[i], err = sessions.Create(ctx, session.Opened{}); err != nil {
				return err
			}
		}
		run := func(parallel bool) (float64, error) {
			errs := make(chan error, writers)
			t0 := time.Now()
			var wg sync.WaitGroup
			var one sync.Mutex
			for _, log := range logs {
				wg.Go(func() {
					for range each {
						d := session.ItemDraft(item(sessions.NewID()), false, nil)
						if !parallel {
							one.Lock()
						}
						_, err := log.Append(ctx, d)
						if !parallel {
							one.Unlock()
						}
						if err != nil {
							errs <- err
							return
						}
					}
				})
			}
			wg.Wait()
			close(errs)
			return float64(writers*each) / time.Since(t0).Seconds(), <-errs
		}
		for _, parallel := range []bool{true, false} {
			rate, err := run(parallel)
			if err != nil {
				return err
			}
			if parallel {
				many = append(many, rate)
			} else {
				single = append(single, rate)
			}
		}
		for _, l := range logs {
			l.Close()
		}
		closeStore(store)
		payload := session.ItemDraft(item(sessions.NewID()), false, nil).Payload
		rate, err := bareGroups(ctx, filepath.Join(dir, "bare.db"), each, payload)
		if err != nil {
			return err
		}
		rows = append(rows, rate)
		if rate, err = bareTables(ctx, dir, each, payload); err != nil {
			return err
		}
		tables = append(tables, rate)
	}
	a, c := middle(many), middle(single)
	b.add("64 sessions, 64 writers, SQLite", fmt.Sprintf("%.0f items/s", a),
		fmt.Sprintf("one transaction per item %.0f items/s; by one thread, 64 in a transaction, the same tables %.0f items/s, bare rows %.0f items/s",
			c, middle(tables), middle(rows)),
		fmt.Sprintf("%s, %s, %s", ratioText(a/c), ratioText(a/middle(tables)), ratioText(a/middle(rows))), goal("≥ 5 ×, ≥ 60,000 items/s", a >= 5*c && a >= 60_000))
	return nil
}

// bareGroups returns how many payloads per second SQLite stores when each transaction has 64
// payloads.
func bareGroups(ctx context.Context, path string, groups int, payload []byte) (rate float64, err error) {
	bare, err := newBareSQLite(ctx, path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, bare.Close()) }()
	t0 := time.Now()
	for range groups {
		if err := bare.group(ctx, writers, payload); err != nil {
			return 0, err
		}
	}
	return float64(writers*groups) / time.Since(t0).Seconds(), nil
}
