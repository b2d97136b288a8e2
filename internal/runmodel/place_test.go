package runmodel

import (
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/postgres"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// memoryStores are places in memory.
type memoryStores struct{}

func (memoryStores) open(*rapid.T) session.Store             { return memory.New() }
func (memoryStores) close(*rapid.T, session.Store, []string) {}
func (memoryStores) quick() bool                             { return true }

// file is one SQLite file, which every world opens anew.
type file struct{ path string }

func (f file) open(t *rapid.T) session.Store {
	s, err := sqlite.Open(f.path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (f file) close(t *rapid.T, s session.Store, ids []string) {
	remove(t, s, ids)
	if err := s.(*sqlite.Store).Close(); err != nil {
		t.Error(err)
	}
}

func (file) quick() bool { return false }

// database is a schema of a PostgreSQL server, with one pool for all worlds.
type database struct{ store *postgres.Store }

func (d database) open(*rapid.T) session.Store { return d.store }

func (d database) close(t *rapid.T, _ session.Store, ids []string) { remove(t, d.store, ids) }

func (database) quick() bool { return false }

// remove deletes the sessions of a world, so that lists stay short.
func remove(t *rapid.T, s session.Store, ids []string) {
	d, ok := session.As[session.Deleter](s)
	if !ok {
		return
	}
	for _, id := range ids {
		if err := d.Delete(ctx, id); err != nil {
			t.Error(err)
		}
	}
}

// server is a schema of the test's own on the server for tests.
func server(t *testing.T) database {
	t.Helper()
	at := os.Getenv("HOLDFAST_TEST_POSTGRES")
	if at == "" {
		testneed.Need(t, `HOLDFAST_TEST_POSTGRES is not set: eval "$(scripts/services start postgres)" makes this run`)
	}
	u, err := url.Parse(at)
	if err != nil {
		t.Fatal(err)
	}
	schema := "t_" + strings.ToLower(rand.Text())
	q := u.Query()
	q.Set("schema", schema)
	q.Set("pool_max_conns", "8")
	u.RawQuery = q.Encode()
	s, err := postgres.Open(ctx, u.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		c, err := pgx.Connect(ctx, at)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close(ctx)
		if _, err := c.Exec(ctx, "DROP SCHEMA IF EXISTS "+schema+" CASCADE"); err != nil {
			t.Error(err)
		}
	})
	return database{s}
}

func TestRunsInMemory(t *testing.T) { runs(t, memoryStores{}, 150) }

func TestRunsInSQLite(t *testing.T) { runs(t, file{filepath.Join(t.TempDir(), "sessions.db")}, 30) }

func TestRunsInPostgreSQL(t *testing.T) { runs(t, server(t), 20) }
