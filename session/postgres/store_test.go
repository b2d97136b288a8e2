package postgres_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/postgres"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
	"github.com/holdfast-dev/holdfast/transcript"
)

var ctx = context.Background()

// server is the URL of the server for tests, or the test ends.
func server(t testing.TB) string {
	t.Helper()
	s := os.Getenv("HOLDFAST_TEST_POSTGRES")
	if s == "" {
		testneed.Need(t, `HOLDFAST_TEST_POSTGRES is not set: eval "$(scripts/services start postgres)" makes this run`)
	}
	return s
}

// with sets parameters of a URL.
func with(t testing.TB, text string, pairs ...string) string {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for i := 0; i < len(pairs); i += 2 {
		q.Set(pairs[i], pairs[i+1])
	}
	u.RawQuery = q.Encode()
	return u.String()
}

// target is the URL of a schema of the test's own, which goes with it.
func target(t testing.TB) string {
	t.Helper()
	name := "t_" + strings.ToLower(rand.Text())
	at := server(t)
	t.Cleanup(func() { script(t, at, "DROP SCHEMA IF EXISTS "+name+" CASCADE") })
	return with(t, at, "schema", name, "pool_max_conns", "8")
}

// script runs statements in the schema that a URL names.
func script(t testing.TB, at string, statements string) {
	t.Helper()
	c := dial(t, at)
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, statements); err != nil {
		t.Fatalf("%s: %v", statements, err)
	}
}

// value is the one value of a query, as text.
func value(t testing.TB, at, query string, args ...any) string {
	t.Helper()
	c := dial(t, at)
	defer c.Close(ctx)
	var v *string
	if err := c.QueryRow(ctx, "SELECT ("+query+")::text", args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if v == nil {
		return "null"
	}
	return *v
}

func dial(t testing.TB, at string) *pgx.Conn {
	t.Helper()
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	schema := q.Get("schema")
	for _, name := range []string{"schema", "durability", "pool_max_conns"} {
		q.Del(name)
	}
	if schema != "" {
		q.Set("search_path", pgx.Identifier{schema}.Sanitize())
	}
	u.RawQuery = q.Encode()
	c, err := pgx.Connect(ctx, u.String())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// open opens a store that the test closes.
func open(t testing.TB, at string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(ctx, at, nil)
	if err != nil {
		t.Fatalf("%v (hint: %s)", err, session.Hint(err))
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestStore(t *testing.T) {
	server(t)
	places := map[session.Store]string{}
	sessiontest.Run(t, func(t testing.TB) session.Store {
		at := target(t)
		s := open(t, at)
		places[s] = at
		return s
	}, sessiontest.Capabilities{
		Reopen: func(t testing.TB, s session.Store) session.Store { return open(t, places[s]) },
		Corrupt: func(t testing.TB, s session.Store, id string, seq int64) {
			what := []string{"chain = substr(chain, 2)", "payload = payload || 'x'", "chain = overlay(chain placing 'x' from 65)"}[seq%3]
			script(t, places[s], fmt.Sprintf("UPDATE records r SET %s FROM sessions s WHERE s.num = r.num AND s.id = '%s' AND seq = %d", what, id, seq))
		},
	})
}

// author makes the records of one session.
type author struct {
	store *postgres.Store
	id    string
	epoch int64
	head  int64
	last  session.Digest
}

func (a *author) seal(kind session.Kind, v any) session.Record {
	d, err := session.NewDraft(kind, v)
	if err != nil {
		panic(err)
	}
	r := session.Record{Seq: a.head + 1, ID: fmt.Sprintf("%s#%d", a.id, a.head+1), Time: time.UnixMilli(1_700_000_000_000 + a.head), Kind: kind, Payload: d.Payload}
	r.Seal(a.last)
	a.head, a.last = r.Seq, r.Digest
	return r
}

func (a *author) item(text string) session.Record {
	it := transcript.UserText(text)
	it.ID = fmt.Sprintf("i%d", a.head+1)
	return a.seal(session.KindItem, session.ItemDraft(it.MustEncode(), false, nil).Payload)
}

func (a *author) batch(records ...session.Record) session.Batch {
	d, err := session.Fold(records)
	if err != nil {
		panic(err)
	}
	return session.Batch{Expect: records[0].Seq - 1, Epoch: a.epoch, Records: records, Delta: d}
}

func (a *author) append(records ...session.Record) error {
	return a.store.Append(ctx, a.id, a.batch(records...))
}

// begin makes a session and takes its lease.
func begin(s *postgres.Store, id string) (*author, error) {
	a := &author{store: s, id: id}
	if err := a.append(a.seal(record.KindOpened, session.Opened{Format: 1, SessionID: id, Created: time.UnixMilli(1_700_000_000_000)})); err != nil {
		return nil, err
	}
	return a, a.take()
}

func (a *author) take() error {
	l, err := a.store.Acquire(ctx, a.id, session.Lease{Holder: session.Holder{ID: "author"}}, func(session.Lease) bool { return true })
	a.epoch = l.Epoch
	return err
}

// create is begin for a test.
func create(t testing.TB, s *postgres.Store, id string) *author {
	t.Helper()
	a, err := begin(s, id)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// resume goes on where the session ends.
func (a *author) resume() error {
	p, err := a.store.List(ctx, session.Query{ID: a.id})
	if err == nil && len(p.Sessions) == 1 {
		a.head, a.last = p.Sessions[0].Head, p.Sessions[0].HeadDigest
	}
	return err
}

// count reads a whole session and checks that each record follows the one before.
func count(t testing.TB, s session.Store, id string) int64 {
	t.Helper()
	var last session.Record
	for r, err := range s.Read(ctx, id, session.Range{}) {
		if err == nil && last.Seq > 0 {
			err = r.CheckAfter(&last)
		}
		if err != nil {
			t.Fatalf("record %d: %v", r.Seq, err)
		}
		last = r
	}
	return last.Seq
}
