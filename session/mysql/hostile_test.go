package mysql_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/mysql"
)

// The server's settings for transactions are ignored: a COMMIT that starts another transaction
// would include the next statements.
func TestConnectionSettings(t *testing.T) {
	db := rawOf(t, database(t))
	db.SetMaxOpenConns(1)
	run(t, db, "SET completion_type = 'CHAIN', autocommit = 0, sql_mode = 'ANSI_QUOTES,NO_BACKSLASH_ESCAPES'")
	run(t, db, fmt.Sprintf(mysql.Settings, 5))
	var completion, mode string
	var autocommit int
	if err := db.QueryRow("SELECT @@completion_type, @@autocommit, @@sql_mode").Scan(&completion, &autocommit, &mode); err != nil {
		t.Fatal(err)
	}
	if completion != "NO_CHAIN" || autocommit != 1 || strings.Contains(mode, "NO_BACKSLASH_ESCAPES") {
		t.Errorf("completion_type %s, autocommit %d, sql_mode %s", completion, autocommit, mode)
	}
}

// many are small records that as one text are more than a packet.
func many(t *testing.T, m session.Meta, n int) session.Batch {
	t.Helper()
	b := session.Batch{Expect: m.Head}
	prev := m.HeadDigest
	for i := range n {
		r := session.Record{
			Seq: m.Head + int64(i) + 1, ID: fmt.Sprintf("%s%d", strings.Repeat("'", 900), i), Time: time.UnixMilli(1_700_000_000_000).UTC(),
			Kind: record.KindMetaChanged, Payload: []byte(`{}`),
		}
		r.Seal(prev)
		prev = r.Digest
		b.Records = append(b.Records, r)
	}
	var err error
	if b.Delta, err = session.Fold(b.Records); err != nil {
		t.Fatal(err)
	}
	return b
}

func metaOf(t *testing.T, s session.Store, id string) session.Meta {
	t.Helper()
	p, err := s.List(t.Context(), session.Query{ID: id})
	if err != nil || len(p.Sessions) != 1 {
		t.Fatal(p, err)
	}
	return p.Sessions[0]
}

// What a batch is as a text does not follow from its payloads alone.
func TestBatchNotUTF8(t *testing.T) {
	s := open(t, database(t), nil)
	create(t, s, "s")
	b := many(t, metaOf(t, s, "s"), 9_500)
	if err := s.Append(t.Context(), "s", b); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), "s", b); err != nil {
		t.Errorf("the retry: %v", err)
	}
	if last := whole(t, s, "s"); last != b.Delta.Head {
		t.Errorf("it ends at %d, want %d", last, b.Delta.Head)
	}
}

// A retry is acknowledged only after a commit of its own, because what it found may not be
// synced.
func TestRetrySyncs(t *testing.T) {
	text := database(t)
	s := open(t, text, nil)
	create(t, s, "s")
	b := many(t, metaOf(t, s, "s"), 2)
	epoch := func() (n int64) {
		if err := rawOf(t, text).QueryRow("SELECT last FROM epochs").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	for try, commits := range []int64{0, 1, 1} {
		before := epoch()
		if err := s.Append(t.Context(), "s", b); err != nil {
			t.Fatal(err)
		}
		if got := epoch() - before; got != commits {
			t.Errorf("try %d: %d commits besides, want %d", try, got, commits)
		}
	}
}

// Missing rows are reported, and a session with missing rows does not look complete.
func TestReadReportsMissingRecords(t *testing.T) {
	text := database(t)
	s := open(t, text, nil)
	for id, how := range map[string]string{
		"hole": "seq IN (3, 4)", "first": "seq = 1", "end": "seq > 150", "all": "seq > 0",
	} {
		create(t, s, id)
		b := many(t, metaOf(t, s, id), 199)
		if err := s.Append(t.Context(), id, b); err != nil {
			t.Fatal(err)
		}
		run(t, rawOf(t, text), "DELETE FROM records WHERE "+how+" AND num = (SELECT num FROM sessions WHERE id = ?)", id)
	}
	for id, want := range map[string]struct {
		good int
		bad  string
		back string
	}{
		"hole": {198, "[3 4]", "[4 3]"}, "first": {199, "[1]", "[1]"}, "end": {150, "[151]", "[200]"}, "all": {0, "[1]", "[200]"},
	} {
		for reverse, bad := range map[bool]string{false: want.bad, true: want.back} {
			good, lost := 0, []int64{}
			for r, err := range s.Read(t.Context(), id, session.Range{Reverse: reverse}) {
				switch {
				case err == nil:
					good++
				case errors.Is(err, session.ErrCorrupt):
					lost = append(lost, r.Seq)
				default:
					t.Fatal(err)
				}
			}
			if good != want.good || fmt.Sprint(lost) != bad {
				t.Errorf("%s, reverse %v: %d records, lost %v; want %d, %s", id, reverse, good, lost, want.good, bad)
			}
		}
	}
}

func TestReadSessionDeletedMeanwhile(t *testing.T) {
	s := open(t, database(t), nil)
	create(t, s, "s")
	if err := s.Append(t.Context(), "s", many(t, metaOf(t, s, "s"), 199)); err != nil {
		t.Fatal(err)
	}
	var end error
	n := 0
	for r, err := range s.Read(t.Context(), "s", session.Range{}) {
		if end = err; r.Seq == 1 {
			if err := s.Delete(t.Context(), "s"); err != nil {
				t.Fatal(err)
			}
		}
		n++
	}
	if !errors.Is(end, session.ErrNotFound) {
		t.Errorf("it ends after %d records with %v", n, end)
	}
}

func TestGreatestLimit(t *testing.T) {
	s := open(t, database(t), nil)
	create(t, s, "s")
	p, err := s.List(t.Context(), session.Query{Limit: math.MaxInt})
	if err != nil || len(p.Sessions) != 1 || p.Next != "" {
		t.Errorf("%+v, %v", p, err)
	}
}

// Close waits for what is under way.
func TestCloseWaits(t *testing.T) {
	text := database(t)
	s := open(t, text, &mysql.Options{LockTimeout: time.Minute})
	create(t, s, "s")
	b := many(t, metaOf(t, s, "s"), 1)
	tx, err := rawOf(t, text).Begin()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec("SELECT 1 FROM sessions FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	appended, closed := make(chan error, 1), make(chan error, 1)
	go func() { appended <- s.Append(t.Context(), "s", b) }()
	waiting := 0
	for db := raw(t, server(t)); waiting == 0; {
		if err := db.QueryRow("SELECT COUNT(*) FROM information_schema.processlist WHERE command = 'Query' AND info LIKE '%UPDATE sessions SET head%' AND info NOT LIKE '%processlist%'").Scan(&waiting); err != nil {
			t.Fatal(err)
		}
	}
	go func() { closed <- s.Close() }()
	select {
	case <-closed:
		t.Error("it is closed, and an append is under way")
	case <-time.After(50 * time.Millisecond):
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-appended; err != nil {
		t.Errorf("the append: %v", err)
	}
}

// A session that begins where it would itself be cannot be read to its beginning.
func TestForkOfItself(t *testing.T) {
	s := open(t, database(t), nil)
	d, err := session.NewDraft(record.KindOpened, session.Opened{
		Format: 1, SessionID: "s", Created: time.UnixMilli(1_700_000_000_000), Base: &session.Base{Parent: "s", Seq: 5},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := session.Record{Seq: 6, ID: "r", Time: time.UnixMilli(1_700_000_000_000).UTC(), Kind: record.KindOpened, Payload: d.Payload}
	r.Seal(session.Digest(sha256.Sum256(nil)))
	b := session.Batch{Expect: 5, Records: []session.Record{r}}
	if b.Delta, err = session.Fold(b.Records); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), "s", b); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("%v", err)
	}
}
