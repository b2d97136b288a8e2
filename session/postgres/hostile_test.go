package postgres_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// What a role is set to does not change what transactions see, nor any text.
func TestRoleWithOtherSettings(t *testing.T) {
	at := target(t)
	open(t, at)
	role, word := "r_"+strings.ToLower(rand.Text()), "ma"+"de-up"
	script(t, at, fmt.Sprintf("CREATE ROLE %[1]s SUPERUSER LOGIN PASSWORD '%[2]s'; ALTER ROLE %[1]s SET default_transaction_isolation = 'serializable'; ALTER ROLE %[1]s SET client_encoding = 'LATIN1'", role, word))
	t.Cleanup(func() { script(t, at, "DROP ROLE "+role) })
	u, _ := url.Parse(at)
	u.User = url.UserPassword(role, word)
	s := open(t, u.String())
	script(t, at, `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN NEW.title := (current_setting('transaction_isolation') || ' ' || current_setting('client_encoding'))::bytea; RETURN NEW; END $$;
CREATE TRIGGER note BEFORE INSERT ON sessions FOR EACH ROW EXECUTE FUNCTION note()`)
	create(t, s, "s")
	p, err := s.List(ctx, session.Query{ID: "s", Limit: math.MaxInt})
	if err != nil || len(p.Sessions) != 1 || p.Sessions[0].Title != "read committed UTF8" {
		t.Errorf("%+v, %v", p.Sessions, err)
	}
	if _, err := s.List(ctx, session.Query{Limit: math.MaxInt}); err != nil {
		t.Errorf("the greatest limit: %v", err)
	}
	if _, err := s.Search(ctx, session.Search{Words: "x", Limit: math.MaxInt}); err != nil {
		t.Errorf("the greatest limit of a search: %v", err)
	}
}

// An indexer that read a text before it was erased must not store its words afterwards.
func TestEraseWhileIndexing(t *testing.T) {
	at := target(t)
	s := open(t, at)
	a := create(t, s, "s")
	if err := a.append(a.item("a hidden thing")); err != nil {
		t.Fatal(err)
	}
	script(t, at, `CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN PERFORM pg_advisory_xact_lock_shared(hashtext(current_schema())); RETURN NEW; END $$;
CREATE TRIGGER hold BEFORE INSERT ON search FOR EACH ROW EXECUTE FUNCTION hold()`)
	c := dial(t, at)
	defer c.Close(ctx)
	if _, err := c.Exec(ctx, "SELECT pg_advisory_lock(hashtext(current_schema()))"); err != nil {
		t.Fatal(err)
	}
	indexed, erased := make(chan error, 1), make(chan error, 1)
	go func() { indexed <- s.Index(ctx) }()
	const held = "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'advisory' AND query LIKE 'INSERT INTO search%'"
	for value(t, at, held) == "0" {
		time.Sleep(time.Millisecond) // the server tells nobody that somebody waits
	}
	go func() { erased <- s.Erase(ctx, "s", a.epoch, []int64{2}) }()
	select {
	case err := <-erased:
		t.Errorf("it is erased while it is indexed: %v", err)
		erased <- err
	case <-time.After(100 * time.Millisecond):
	}
	if _, err := c.Exec(ctx, "SELECT pg_advisory_unlock_all()"); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(<-indexed, <-erased); err != nil {
		t.Fatal(err)
	}
	if n := value(t, at, "SELECT count(*) FROM search WHERE words @@ 'hidden'"); n != "0" {
		t.Errorf("%s texts have a word of what was erased", n)
	}
}

// Missing rows are reported, and a session with missing rows does not look complete.
func TestReadReportsMissingRecords(t *testing.T) {
	at := target(t)
	s := open(t, at)
	for id, c := range map[string]struct {
		how  string
		good int
		bad  string
		back string
	}{
		"hole":  {"seq IN (3, 4)", 298, "[3 4]", "[4 3]"},
		"first": {"seq = 1", 299, "[1]", "[1]"},
		"end":   {"seq > 260", 260, "[261]", "[300]"},
		"all":   {"seq > 0", 0, "[1]", "[300]"},
	} {
		a := create(t, s, id)
		var more []session.Record
		for range 299 {
			more = append(more, a.item("x"))
		}
		if err := a.append(more...); err != nil {
			t.Fatal(err)
		}
		script(t, at, fmt.Sprintf("DELETE FROM records WHERE %s AND num = (SELECT num FROM sessions WHERE id = '%s')", c.how, id))
		for reverse, bad := range map[bool]string{false: c.bad, true: c.back} {
			good, lost := 0, []int64{}
			for r, err := range s.Read(ctx, id, session.Range{Reverse: reverse}) {
				switch {
				case err == nil:
					good++
				case errors.Is(err, session.ErrCorrupt):
					lost = append(lost, r.Seq)
				default:
					t.Fatal(err)
				}
			}
			if good != c.good || fmt.Sprint(lost) != bad {
				t.Errorf("%s, reverse %v: %d records, lost %v; want %d, %s", id, reverse, good, lost, c.good, bad)
			}
		}
	}
}

func TestReadSessionDeletedMeanwhile(t *testing.T) {
	s := open(t, target(t))
	a := create(t, s, "s")
	for range 3 {
		var more []session.Record
		for range 256 {
			more = append(more, a.item("x"))
		}
		if err := a.append(more...); err != nil {
			t.Fatal(err)
		}
	}
	var end error
	for r, err := range s.Read(ctx, "s", session.Range{}) {
		if end = err; r.Seq == 1 {
			if err := s.Delete(ctx, "s"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if !errors.Is(end, session.ErrNotFound) {
		t.Errorf("it ends with %v", end)
	}
}
