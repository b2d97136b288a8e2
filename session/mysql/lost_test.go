package mysql_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/mysql"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
	"github.com/holdfast-dev/holdfast/transcript"
)

func note(n int) session.Draft {
	it := transcript.UserText(fmt.Sprintf("item %d %s", n, strings.Repeat("words 'that' \"are\" quoted\\ ", 50)))
	it.ID = fmt.Sprint("item-", n)
	return session.ItemDraft(it.MustEncode(), false, nil)
}

// whole reads a log, makes sure that it is unbroken, and returns its last seq.
func whole(t testing.TB, s session.Store, id string) int64 {
	t.Helper()
	var last session.Record
	for r, err := range s.Read(t.Context(), id, session.Range{}) {
		if err != nil {
			t.Fatal(err)
		}
		if err := r.CheckAfter(&last); err != nil {
			t.Fatal(err)
		}
		last = r
	}
	p, err := s.List(t.Context(), session.Query{ID: id})
	if err != nil || len(p.Sessions) != 1 || p.Sessions[0].Head != last.Seq || p.Sessions[0].HeadDigest != last.Digest {
		t.Fatalf("the meta %+v is not of a log that ends at %d, %v", p.Sessions, last.Seq, err)
	}
	return last.Seq
}

// killConnections kills all connections to the database of a URL. It uses one to none.
func killConnections(t *testing.T, db *sql.DB, text string) {
	_, name, _ := strings.Cut(text, "/holdfast_")
	found, err := db.Query("SELECT id FROM information_schema.processlist WHERE db = ?", "holdfast_"+name)
	if err != nil {
		t.Error(err)
		return
	}
	defer found.Close()
	for found.Next() {
		var id int64
		if err := found.Scan(&id); err != nil {
			t.Error(err)
		}
		_, _ = db.Exec("KILL CONNECTION ?", id) // it may have ended by itself
	}
	if err := found.Err(); err != nil {
		t.Error(err)
	}
}

// A writer whose connections are killed continues: each batch is found or sent again, and
// stored once.
func TestConnectionsKilled(t *testing.T) {
	for name, change := range map[string]func(*mysql.Store){
		"with the procedure": func(*mysql.Store) {}, "without": (*mysql.Store).WithoutProcedure,
	} {
		t.Run(name, func(t *testing.T) {
			text := database(t)
			s := open(t, text, nil)
			change(s)
			logs := []*session.Log{create(t, s, "a"), create(t, s, "b")}
			db := raw(t, server(t))
			var all sync.WaitGroup
			acked, failed := make([]int, len(logs)), make([]int, len(logs))
			for i, l := range logs {
				all.Go(func() {
					for n := range 150 {
						if n%5 == 2 {
							all.Go(func() { killConnections(t, db, text) })
						}
						switch _, err := l.Append(t.Context(), note(n)); {
						case err == nil:
							acked[i]++
						case errors.Is(err, session.ErrConflict), errors.Is(err, session.ErrFenced):
							t.Errorf("append %d: %v", n, err)
						default:
							failed[i]++
						}
					}
				})
			}
			all.Wait()
			t.Logf("%v acknowledged, %v failed", acked, failed)
			for i, l := range logs {
				if got := whole(t, s, l.ID()); got < int64(1+acked[i]) || got > int64(1+acked[i]+failed[i]) {
					t.Errorf("session %s ends at %d, %d acknowledged, %d failed", l.ID(), got, acked[i], failed[i])
				}
				l.Close()
			}
		})
	}
}

// A lease that was taken on a connection that was lost is taken.
func TestLeaseWhenConnectionsAreKilled(t *testing.T) {
	text := database(t)
	s := open(t, text, nil)
	db := raw(t, server(t))
	var all sync.WaitGroup
	defer all.Wait()
	last := int64(0)
	for n := range 100 {
		if n%3 == 1 {
			all.Go(func() { killConnections(t, db, text) })
		}
		h := session.Lease{Holder: session.Holder{ID: fmt.Sprint(n)}}
		got, err := s.Acquire(t.Context(), "s", h, func(cur session.Lease) bool { return cur.Holder.ID != h.Holder.ID })
		if err != nil {
			if errors.Is(err, session.ErrBusy) {
				t.Errorf("acquire %d: %v", n, err)
			}
			continue
		}
		if got.Epoch <= last {
			t.Errorf("epoch %d after %d", got.Epoch, last)
		}
		last = got.Epoch
	}
}

func dial(ctx context.Context, at string) (session.Store, error) { return mysql.Open(ctx, at, nil) }

func TestMain(m *testing.M) { sessiontest.Main(m, dial) }

func TestProcessesRace(t *testing.T) { sessiontest.RunProcesses(t, database(t), dial) }
