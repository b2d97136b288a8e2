package postgres_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-dev/holdfast/internal/missing"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/postgres"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
)

var ctx = context.Background()

// server is the URL of the server for tests, or the test ends.
func server(t testing.TB) string {
	t.Helper()
	s := os.Getenv("HOLDFAST_TEST_POSTGRES")
	if s == "" {
		missing.Skip(t, `HOLDFAST_TEST_POSTGRES is not set: eval "$(scripts/services start postgres)" makes this run`)
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

// place is the URL of a schema of the test's own, which goes with it.
func place(t testing.TB) string {
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
	places := map[session.Store]string{}
	sessiontest.Run(t, func(t testing.TB) session.Store {
		at := place(t)
		s := open(t, at)
		places[s] = at
		return s
	}, sessiontest.Caps{
		Reopen: func(t testing.TB, s session.Store) session.Store { return open(t, places[s]) },
	})
}
