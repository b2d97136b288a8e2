package mysql_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/mysql"
)

func TestInvalidURLs(t *testing.T) {
	for _, text := range []string{
		"", "mysql:", "mysql://", "mysql://h", "mysql://h/", "mysql:///db", "mysql://h/a/b", "postgres://h/db",
		"mysql://u:" + "se%cret@h/db", "mysql://u:" + "secret@h:port/db", "mysql://u:" + "sec#ret@h/db",
		"mysql://u:" + "secret@h/db?unknown=1", "mysql://u:" + "secret@h/db?tls=maybe", "mysql://u:" + "secret@h/db?tls=true&tls=false",
		"mysql://u:" + "secret@h/db?tls-ca=/nowhere&tls=true", "mysql://u:" + "secret@h/db?tls-ca=/nowhere", "mysql://u:" + "secret@h/db?conns=0",
		"mysql://u:" + "33/secret@h", "mysql://u:" + "secret@h/db?conns=x", "mysql://u:" + "secret@h/db?timeout=5", "mysql://u:" + "secret@h/db?durability=none",
		"mysql://u:" + "secret@h/db?socket=/s", "mysql://u:" + "secret@h/db?a=%zz", "mysql://u:" + "secret@h/" + strings.Repeat("d", 65),
		"mysql://u:" + "secret@h/db?multiStatements=true", "mysql://u:" + "secret@h/db?allowAllFiles=true",
	} {
		_, err := mysql.Open(context.Background(), text, nil)
		if !errors.Is(err, session.ErrInvalid) || session.Hint(err) == "" {
			t.Errorf("%q: %v", text, err)
		}
		if err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "se%cret")) {
			t.Errorf("the password is in %q", err)
		}
	}
}

func FuzzURL(f *testing.F) {
	f.Add("db.example", "secret", "tls=true")
	f.Add("[::1]:3307", "s/e?c@ret", "conns=3&durability=relaxed")
	f.Fuzz(func(t *testing.T, host, password, query string) {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if len(password) < 4 || strings.Contains(host+query, password) {
			return
		}
		text := "mysql://u:" + url.QueryEscape(password) + "@" + host + "/db?" + query
		s, err := mysql.Open(ctx, text, nil)
		if err == nil {
			t.Fatalf("opened with a context that has ended: %s", s.URL())
		}
	})
}

func TestPasswordIsNeverShown(t *testing.T) {
	text := database(t)
	s := open(t, text, nil)
	u, _ := url.Parse(text)
	password, _ := u.User.Password()
	wrong := *u
	wrong.User = url.UserPassword("holdfast", "not-the-"+"password")
	nobody := *u
	nobody.Host = "127.0.0.1:1"
	missing := *u
	missing.Path = "/holdfast_missing"
	for name, u := range map[string]*url.URL{"wrong": &wrong, "nobody": &nobody, "missing": &missing} {
		_, err := mysql.Open(t.Context(), u.String(), nil)
		if err == nil || session.Hint(err) == "" {
			t.Errorf("%s: %v, hint %q", name, err, session.Hint(err))
			continue
		}
		all := fmt.Sprintf("%v %+v %q", err, err, session.Hint(err))
		if strings.Contains(all, password) || strings.Contains(all, "not-the-password") {
			t.Errorf("%s: the password is in %s", name, all)
		}
	}
	if strings.Contains(s.URL(), password) || !strings.Contains(s.URL(), "holdfast:xxxxx@") {
		t.Errorf("URL: %s", s.URL())
	}
	s.Close()
	if _, err := s.List(t.Context(), session.Query{}); !errors.Is(err, session.ErrClosed) || strings.Contains(err.Error(), password) {
		t.Errorf("after Close: %v", err)
	}
}

func TestOpenRejectsDatabases(t *testing.T) {
	for name, c := range map[string]struct {
		make string
		want error
	}{
		"another program's":        {"CREATE TABLE customers (id INT)", session.ErrCorrupt},
		"with a table of our name": {"CREATE TABLE sessions (id INT)", session.ErrCorrupt},
		"with another marker":      {"CREATE TABLE holdfast (name TEXT)", session.ErrCorrupt},
		"newer": {fmt.Sprintf("CREATE TABLE holdfast (one TINYINT PRIMARY KEY, version INT); INSERT INTO holdfast VALUES (1, %d)",
			mysql.FormatVersion+1), session.ErrNewer},
	} {
		t.Run(name, func(t *testing.T) {
			text := database(t)
			db := rawOf(t, text)
			run(t, db, c.make)
			_, err := mysql.Open(t.Context(), text, nil)
			if !errors.Is(err, c.want) || session.Hint(err) == "" {
				t.Fatalf("%v, want %v", err, c.want)
			}
			var tables int
			if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()").Scan(&tables); err != nil || tables != 1 {
				t.Errorf("%d tables afterwards, %v", tables, err)
			}
		})
	}
}

// A program that made the tables may have been cut short anywhere.
func TestTablesIncomplete(t *testing.T) {
	for name, cut := range map[string]string{
		"before the first table": "DROP TABLE sessions, records, leases, epochs; DROP PROCEDURE append_record_1",
		"in the middle":          "DROP TABLE leases, epochs; DROP PROCEDURE append_record_1",
		"before the counter":     "DELETE FROM epochs",
		"before the end":         "DO 0",
	} {
		t.Run(name, func(t *testing.T) {
			text := database(t)
			open(t, text, nil).Close()
			run(t, rawOf(t, text), "UPDATE holdfast SET version = 0; "+cut)
			s := open(t, text, nil)
			if !s.HasProcedure() {
				t.Error("no procedure")
			}
			l := create(t, s, "s")
			defer l.Close()
			if l.Head() != 1 {
				t.Errorf("head %d", l.Head())
			}
		})
	}
}

// A dump may leave procedures out.
func TestProcedureIsRecreated(t *testing.T) {
	text := database(t)
	open(t, text, nil).Close()
	run(t, rawOf(t, text), "DROP PROCEDURE append_record_1")
	if s := open(t, text, nil); !s.HasProcedure() {
		t.Error("no procedure")
	}
}

func TestManyOpenAtOnce(t *testing.T) {
	text := database(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			s, err := mysql.Open(t.Context(), text, nil)
			if err != nil {
				t.Error(err)
				return
			}
			s.Close()
		})
	}
	all.Wait()
}

func TestNonDurableServers(t *testing.T) {
	for _, c := range []struct {
		flush, binlog, sync, method string
		ok                          bool
	}{
		{"1", "0", "0", "fsync", true},
		{"1", "1", "1", "O_DIRECT", true},
		{"2", "0", "0", "fsync", false},
		{"0", "0", "0", "fsync", false},
		{"1", "1", "0", "fsync", false},
		{"1", "1", "100", "fsync", false},
		{"1", "0", "0", "nosync", false},
	} {
		err := mysql.CheckDurable(c.flush, c.binlog, c.sync, c.method)
		if (err == nil) != c.ok || err != nil && (!errors.Is(err, session.ErrUnsupported) || session.Hint(err) == "") {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for version, ok := range map[string]bool{
		"8.0.36": true, "8.4.0": true, "9.1.0-cloud": true, "5.7.44-log": false, "10.11.19-MariaDB-0+deb12u1": true,
		"5.5.5-10.11.6-MariaDB": true, "10.4.34-MariaDB": false, "11.4.2-MariaDB": true, "10.5.0-MariaDB": true,
	} {
		if err := mysql.CheckVersion(version); (err == nil) != ok {
			t.Errorf("%s: %v", version, err)
		}
	}
}

// create makes a session and holds its lease.
func create(t testing.TB, s session.Store, id string) *session.Log {
	t.Helper()
	l, err := session.New(s, nil).Create(context.Background(), session.Opened{SessionID: id})
	if err != nil {
		t.Fatal(err)
	}
	return l
}
