package audit

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/file"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// medium is a store on disk and what a user with access to its files can do.
type medium interface {
	open(t testing.TB, dir string) session.Store
	// load reads a stored log; save writes it back with matching metadata.
	load(t testing.TB, dir, id string) []session.Record
	save(t testing.TB, dir, id string, recs []session.Record)
	remove(t testing.TB, dir, id string)
	// bytes returns the file that contains the records of a session.
	bytes(dir, id string) string
}

var media = map[string]medium{"sqlite": inSQLite{}, "file": inFiles{}}

func closeStore(t testing.TB, s session.Store) {
	t.Helper()
	if err := s.(interface{ Close() error }).Close(); err != nil {
		t.Fatal(err)
	}
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type inSQLite struct{}

func (inSQLite) bytes(dir, _ string) string { return filepath.Join(dir, "sessions.db") }

func (m inSQLite) open(t testing.TB, dir string) session.Store {
	t.Helper()
	s, err := sqlite.Open(m.bytes(dir, ""), nil)
	check(t, err)
	return s
}

// sql runs statements on the file without using the store.
func (m inSQLite) sql(t testing.TB, dir string, f func(*sql.Tx)) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+m.bytes(dir, ""))
	check(t, err)
	defer db.Close()
	tx, err := db.Begin()
	check(t, err)
	f(tx)
	check(t, tx.Commit())
}

func (m inSQLite) load(t testing.TB, dir, id string) (recs []session.Record) {
	t.Helper()
	m.sql(t, dir, func(tx *sql.Tx) {
		rows, err := tx.Query(`SELECT key & 0xffffffff, id, time_ms, kind, chain, payload FROM records
  WHERE key >> 32 = (SELECT num FROM sessions WHERE id = ?) ORDER BY key`, id)
		check(t, err)
		defer rows.Close()
		for rows.Next() {
			var r session.Record
			var ms int64
			var chain, payload []byte
			check(t, rows.Scan(&r.Seq, &r.ID, &ms, &r.Kind, &chain, &payload))
			r.Time, r.Payload = time.UnixMilli(ms).UTC(), payload
			copy(r.Prev[:], chain)
			copy(r.Body[:], chain[32:])
			copy(r.Digest[:], chain[64:])
			recs = append(recs, r)
		}
		check(t, rows.Err())
	})
	return recs
}

func (m inSQLite) save(t testing.TB, dir, id string, recs []session.Record) {
	t.Helper()
	m.sql(t, dir, func(tx *sql.Tx) {
		exec := func(q string, args ...any) {
			_, err := tx.Exec(q, args...)
			check(t, err)
		}
		var num int64
		check(t, tx.QueryRow("SELECT num FROM sessions WHERE id = ?", id).Scan(&num))
		exec("DELETE FROM records WHERE key >> 32 = ?", num)
		for _, r := range recs {
			chain := slices.Concat(r.Prev[:], r.Body[:], r.Digest[:])
			exec("INSERT INTO records (key, id, time_ms, kind, chain, payload) VALUES (?, ?, ?, ?, ?, ?)",
				num<<32|r.Seq, r.ID, r.Time.UnixMilli(), string(r.Kind), chain, []byte(r.Payload))
		}
		last := recs[len(recs)-1]
		exec("UPDATE sessions SET head = ?, head_digest = ?, updated_ms = ? WHERE num = ?", last.Seq, last.Digest[:], last.Time.UnixMilli(), num)
		var meta session.Meta
		for _, r := range recs {
			if d, err := session.Fold([]session.Record{r}); err == nil {
				meta = meta.Apply(d)
			}
		}
		exec("UPDATE sessions SET messages = ?, size = ?, title = ?, first_prompt = ? WHERE num = ?",
			meta.MessageCount, meta.Size, meta.Title, meta.FirstPrompt, num)
	})
}

func (m inSQLite) remove(t testing.TB, dir, id string) {
	t.Helper()
	m.sql(t, dir, func(tx *sql.Tx) {
		for _, q := range []string{"DELETE FROM records WHERE key >> 32 = (SELECT num FROM sessions WHERE id = ?)", "DELETE FROM sessions WHERE id = ?"} {
			_, err := tx.Exec(q, id)
			check(t, err)
		}
	})
}

type inFiles struct{}

func (inFiles) bytes(dir, id string) string { return filepath.Join(dir, "store", id, "log.jsonl") }

func (inFiles) open(t testing.TB, dir string) session.Store {
	t.Helper()
	s, err := file.Open(filepath.Join(dir, "store"), nil)
	check(t, err)
	return s
}

type fileLine struct {
	Seq     int64           `json:"seq"`
	ID      string          `json:"id"`
	Time    time.Time       `json:"time"`
	Kind    session.Kind    `json:"kind"`
	Payload json.RawMessage `json:"payload"`
	Prev    session.Digest  `json:"prev"`
	Body    session.Digest  `json:"body"`
	Digest  session.Digest  `json:"digest"`
}

func (m inFiles) load(t testing.TB, dir, id string) (recs []session.Record) {
	t.Helper()
	b, err := os.ReadFile(m.bytes(dir, id))
	check(t, err)
	for line := range bytes.Lines(b) {
		var l fileLine
		check(t, json.Unmarshal(line[18:], &l))
		recs = append(recs, session.Record{Seq: l.Seq, ID: l.ID, Time: l.Time, Kind: l.Kind, Payload: l.Payload, Prev: l.Prev, Body: l.Body, Digest: l.Digest})
	}
	return recs
}

func (m inFiles) save(t testing.TB, dir, id string, recs []session.Record) {
	t.Helper()
	var out bytes.Buffer
	for _, r := range recs {
		at := r.Time.UTC().Format("2006-01-02T15:04:05.000Z07:00")
		line := fmt.Appendf(nil, `{"seq":%d,"id":%q,"time":%q,"kind":%q,"payload":%s,"prev":"%s","body":"%s","digest":"%s"}`,
			r.Seq, r.ID, at, r.Kind, r.Payload, r.Prev, r.Body, r.Digest)
		fmt.Fprintf(&out, "%08x %08x %s\n", len(line), crc32.Checksum(line, crc32.MakeTable(crc32.Castagnoli)), line)
	}
	check(t, os.WriteFile(m.bytes(dir, id), out.Bytes(), 0o600))
	check(t, os.Remove(filepath.Join(dir, "store", id, "meta.json")))
}

func (m inFiles) remove(t testing.TB, dir, id string) {
	t.Helper()
	check(t, os.RemoveAll(filepath.Dir(m.bytes(dir, id))))
}

// tamperEnv is a folder with a store that has been worked in, and its trail.
type tamperEnv struct {
	medium
	dir string
}

func (s tamperEnv) trailDir() string { return filepath.Join(s.dir, "audit") }

// copy is the stage in another folder.
func (s tamperEnv) copy(t testing.TB) tamperEnv {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "copy")
	check(t, os.CopyFS(dir, os.DirFS(s.dir)))
	check(t, os.Chmod(filepath.Join(dir, "audit"), 0o700))
	return tamperEnv{s.medium, dir}
}

func (s tamperEnv) verify(t testing.TB, o *VerifyOptions) *Report {
	t.Helper()
	store := s.open(t, s.dir)
	defer closeStore(t, store)
	r, err := Verify(context.Background(), session.New(store, nil), s.trailDir(), o)
	check(t, err)
	return r
}

func noteDraft(id, text string) session.Draft {
	return session.Draft{Kind: session.KindItem, Payload: fmt.Appendf(nil,
		`{"item":{"role":"user","id":%q,"time":"2026-05-01T09:00:00Z","parts":[{"type":"text","text":%q}]}}`, id, text)}
}

// newTamperEnv makes a store and works in it: sessions with single records and batches, a rename, a
// rewrite, forks, deletions, several programs' worth of trails.
func newTamperEnv(t testing.TB, m medium) tamperEnv {
	t.Helper()
	st := tamperEnv{m, t.TempDir()}
	store := m.open(t, st.dir)
	ctx := context.Background()
	var trail *Trail
	var s *session.Sessions
	program := func() {
		var err error
		if trail != nil {
			check(t, trail.Close())
		}
		trail, err = OpenTrail(st.trailDir(), &TrailOptions{Name: "test"})
		check(t, err)
		s = session.New(store, &session.Options{AppendObserver: trail})
	}
	create := func(id string, n int) {
		l, err := s.Create(ctx, session.Opened{SessionID: id, CWD: "/src"})
		check(t, err)
		for i := range n {
			_, err := l.Append(ctx, noteDraft(fmt.Sprint(id, "-", i), strings.Repeat(fmt.Sprint("words ", i, " "), 20)))
			check(t, err)
		}
		check(t, l.Close())
	}
	program()
	create("alpha", 12)
	create("beta", 3)
	create("gone", 4)
	check(t, s.Rename(ctx, "alpha", "title"))
	program()
	l, err := s.Open(ctx, "alpha", nil)
	check(t, err)
	_, err = l.Append(ctx, noteDraft("x", "one"), noteDraft("y", "two"), noteDraft("z", "three"))
	check(t, err)
	check(t, l.Rewrite(ctx, session.Rewrite{Reason: "truncate", TruncateAfter: "y"}))
	check(t, l.Close())
	_, err = s.Fork(ctx, "alpha", &session.ForkOptions{ID: "fork", ItemID: "alpha-5"})
	check(t, err)
	create("parent", 6)
	_, err = s.Fork(ctx, "parent", &session.ForkOptions{ID: "orphan", ItemID: "parent-3"})
	check(t, err)
	check(t, s.Delete(ctx, "parent"))
	check(t, s.Delete(ctx, "gone"))
	create("gone", 1) // the id is used again
	check(t, trail.Close())
	closeStore(t, store)
	return st
}
