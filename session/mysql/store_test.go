package mysql_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"io"
	"log"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	driver "github.com/go-sql-driver/mysql"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/mysql"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
)

// server is the URL of the server that the tests make their databases on.
func server(t testing.TB) *url.URL {
	t.Helper()
	text := os.Getenv("HOLDFAST_TEST_MYSQL")
	if text == "" {
		testneed.Need(t, `HOLDFAST_TEST_MYSQL names no server: eval "$(scripts/services start mysql)" makes this run`)
	}
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal("HOLDFAST_TEST_MYSQL is no URL")
	}
	return u
}

// raw is the server of u without this package.
func raw(t testing.TB, u *url.URL) *sql.DB {
	t.Helper()
	c := driver.NewConfig()
	c.User, c.Net, c.Addr = u.User.Username(), "tcp", u.Host
	if socket := u.Query().Get("socket"); socket != "" {
		c.Net, c.Addr = "unix", socket
	}
	c.Passwd, _ = u.User.Password()
	c.DBName = strings.TrimPrefix(u.Path, "/")
	c.Logger = log.New(io.Discard, "", 0)
	c.MultiStatements, c.InterpolateParams = true, true
	connector, err := driver.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { db.Close() })
	return db
}

func run(t testing.TB, db *sql.DB, query string, args ...any) {
	t.Helper()
	if _, err := db.Exec(query, args...); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
}

// database makes an empty database that goes with the test, and returns its URL.
func database(t testing.TB) string {
	t.Helper()
	u := *server(t)
	name := "holdfast_" + strings.ToLower(rand.Text())
	db := raw(t, &u)
	run(t, db, "CREATE DATABASE "+name)
	t.Cleanup(func() { run(t, db, "DROP DATABASE IF EXISTS "+name) })
	u.Path = "/" + name
	return u.String()
}

func rawOf(t testing.TB, text string) *sql.DB {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return raw(t, u)
}

func open(t testing.TB, text string, o *mysql.Options) *mysql.Store {
	t.Helper()
	s, err := mysql.Open(context.Background(), text, o)
	if err != nil {
		t.Fatalf("%v; hint: %s", err, session.Hint(err))
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// urls are those of the stores that the kit has opened.
var urls sync.Map

func TestContract(t *testing.T) {
	contract(t, false, func(*mysql.Store) {})
}

// Where the procedure cannot be made, everything goes another way and is the same.
func TestContractWithoutProcedure(t *testing.T) {
	contract(t, true, (*mysql.Store).WithoutProcedure)
}

func contract(t *testing.T, slow bool, change func(*mysql.Store)) {
	server(t)
	again := func(t testing.TB, text string) session.Store {
		s := open(t, text, nil)
		change(s)
		urls.Store(s, text)
		return s
	}
	sessiontest.Run(t, func(t testing.TB) session.Store { return again(t, database(t)) }, sessiontest.Capabilities{
		Slow: slow,
		Reopen: func(t testing.TB, s session.Store) session.Store {
			text, _ := urls.Load(s)
			return again(t, text.(string))
		},
		Corrupt: func(t testing.TB, s session.Store, id string, seq int64) {
			text, _ := urls.Load(s)
			run(t, rawOf(t, text.(string)), `UPDATE records SET chain = LEFT(chain, 90)
  WHERE seq = ? AND num = (SELECT num FROM sessions WHERE id = ?)`, seq, id)
		},
	})
}
