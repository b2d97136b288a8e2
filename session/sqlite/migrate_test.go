package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// version1 is the schema of the first version, and copies into it what a store of
// this version holds.
const version1 = `
BEGIN;
CREATE TABLE sessions (
  num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, head INTEGER NOT NULL, head_digest BLOB NOT NULL,
  updated_ms INTEGER NOT NULL, created_ms INTEGER NOT NULL, created_ns INTEGER NOT NULL, messages INTEGER NOT NULL,
  size INTEGER NOT NULL, model TEXT NOT NULL, first_prompt TEXT NOT NULL, title TEXT NOT NULL, summary TEXT NOT NULL,
  tag TEXT NOT NULL, project TEXT NOT NULL, cwd TEXT NOT NULL, git_branch TEXT NOT NULL, parent TEXT NOT NULL,
  parent_seq INTEGER NOT NULL, deleted INTEGER NOT NULL
) STRICT;
CREATE INDEX recent ON sessions (updated_ms, created_ms, created_ns, id, project) WHERE deleted = 0;
CREATE INDEX forks ON sessions (parent, parent_seq) WHERE parent <> '';
CREATE INDEX tombstones ON sessions (num) WHERE deleted = 1;
CREATE TABLE records (
  row INTEGER PRIMARY KEY, key INTEGER NOT NULL UNIQUE, id TEXT NOT NULL, time_ms INTEGER NOT NULL, kind TEXT NOT NULL,
  chain BLOB NOT NULL, payload BLOB
) STRICT;
CREATE TABLE leases (id TEXT PRIMARY KEY, epoch INTEGER NOT NULL, lease TEXT NOT NULL) STRICT, WITHOUT ROWID;
CREATE TABLE epochs (last INTEGER NOT NULL) STRICT;
PRAGMA application_id = 1752132708;
PRAGMA user_version = 1;
COMMIT;
`

// version2 is what the second version had more.
const version2 = `
BEGIN;
ALTER TABLE sessions ADD COLUMN questions INTEGER NOT NULL DEFAULT 0;
CREATE INDEX asking ON sessions (num) WHERE questions > 0;
PRAGMA user_version = 2;
COMMIT;
`

// version3 is what the third version had more.
const version3 = `
BEGIN;
ALTER TABLE sessions ADD COLUMN run TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX runs ON sessions (run) WHERE run <> '';
CREATE INDEX owned ON sessions (owner) WHERE owner <> '';
PRAGMA user_version = 3;
COMMIT;
`

const copyToVersion1 = `
ATTACH ? AS new;
INSERT INTO sessions SELECT num, id, head, head_digest, updated_ms, created_ms, created_ns, messages, size, model, first_prompt,
  title, summary, tag, project, cwd, git_branch, parent, parent_seq, deleted FROM new.sessions;
INSERT INTO records SELECT row, key, id, time_ms, kind, chain, payload FROM new.records;
INSERT INTO leases SELECT id, epoch, lease FROM new.leases;
INSERT INTO epochs SELECT last FROM new.epochs;
`

func (a *author) ask(id string) session.Record {
	return a.seal(record.KindApprovalAsked, map[string]string{"id": id})
}

func (a *author) answer(id string) session.Record {
	return a.seal(record.KindApprovalResolved, map[string]string{"id": id})
}

// oldFile makes a file of version 1 with some sessions, and tells their metas.
func oldFile(t *testing.T) (path string, want map[string]session.Meta) {
	t.Helper()
	s := fresh(t)
	quiet := create(t, s, "quiet")
	quiet.items(300)
	busy := create(t, s, "busy")
	busy.items(3)
	busy.add(busy.ask("q1"), busy.ask("q2"))
	busy.items(2)
	busy.add(busy.answer("q1"))
	done := create(t, s, "done")
	done.add(done.ask("q3"))
	done.add(done.answer("q3"))
	f := busy.fork("fork", busy.head-3)
	f.items(1)
	f.add(f.ask("q4"), f.ask("q5"))
	want = map[string]session.Meta{}
	for _, id := range []string{"quiet", "busy", "done", "fork"} {
		want[id] = meta(t, s, id)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(memoryDir(t), "old.db")
	raw(t, path, version1)
	raw(t, path, copyToVersion1, s.Path())
	raw(t, path, "PRAGMA journal_mode = WAL")
	if v := raw(t, path, "PRAGMA user_version"); v != "1" {
		t.Fatalf("version %s", v)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path, want
}

func TestOpenMigratesVersion1(t *testing.T) {
	path, want := oldFile(t)
	checkMigration(t, path, want)
}

func TestOpenMigratesVersion2(t *testing.T) {
	path, want := oldFile(t)
	raw(t, path, version2)
	for id, m := range want {
		raw(t, path, "UPDATE sessions SET questions = ? WHERE id = ?", m.OpenApprovals, id)
	}
	checkMigration(t, path, want)
}

func TestOpenMigratesVersion3(t *testing.T) {
	path, want := oldFile(t)
	raw(t, path, version2)
	raw(t, path, version3)
	for id, m := range want {
		m.Run, m.Owner = "completed", "boss"
		want[id] = m
		raw(t, path, "UPDATE sessions SET questions = ?, run = ?, owner = ? WHERE id = ?", m.OpenApprovals, m.Run, m.Owner, id)
	}
	checkMigration(t, path, want)
}

// checkMigration opens a file of an older version.
func checkMigration(t *testing.T, path string, want map[string]session.Meta) {
	t.Helper()
	for range 2 { // the second time there is nothing to do
		s := open(t, path)
		for id, m := range want {
			if got := meta(t, s, id); got != m {
				t.Errorf("%s:\n got %+v\nwant %+v", id, got, m)
			}
		}
		if v := raw(t, path, "PRAGMA user_version"); v != "4" {
			t.Errorf("version %s", v)
		}
		p, err := s.List(ctx, session.Query{WithApprovals: true})
		var ids []string
		for _, m := range p.Sessions {
			ids = append(ids, m.ID)
		}
		slices.Sort(ids)
		if err != nil || !slices.Equal(ids, []string{"busy", "fork"}) {
			t.Errorf("asking: %v, %v", ids, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	// What was migrated is what a new file is.
	columns := `SELECT group_concat(name || type || "notnull" || pk, ' ') FROM pragma_table_info('sessions')`
	indexes := `SELECT group_concat(sql, '; ') FROM (SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name)`
	made := fresh(t)
	for _, query := range []string{columns, indexes} {
		if old, now := raw(t, path, query), raw(t, made.Path(), query); old != now {
			t.Errorf("migrated:\n%s\nnew:\n%s", old, now)
		}
	}
	// And it can be written.
	s := open(t, path)
	a := create(t, s, "after")
	a.add(a.ask("q6"))
	a.add(a.seal(record.KindRunEvent, map[string]string{"status": "running"}))
	if m := meta(t, s, "after"); m.OpenApprovals != 1 || m.Run != "running" {
		t.Errorf("%+v", m)
	}
}

func TestMigrationHappensOnce(t *testing.T) {
	path, want := oldFile(t)
	stores := make([]*sqlite.Store, 4)
	errs := make([]error, len(stores))
	var wg sync.WaitGroup
	for i := range stores {
		wg.Go(func() { stores[i], errs[i] = sqlite.Open(path, nil) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for _, s := range stores {
		if got := meta(t, s, "fork"); got != want["fork"] {
			t.Errorf("%+v", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A file that says version 1 and is damaged is refused and left as it is.
func TestMigrationIsAllOrNothing(t *testing.T) {
	path := filepath.Join(memoryDir(t), "odd.db")
	raw(t, path, strings.Replace(version1, "kind TEXT NOT NULL", "sort TEXT NOT NULL", 1))
	if s, err := sqlite.Open(path, nil); err == nil {
		s.Close()
		t.Fatal("opened")
	}
	if v := raw(t, path, "PRAGMA user_version"); v != "1" {
		t.Errorf("version %s", v)
	}
	if n := raw(t, path, "SELECT count(*) FROM pragma_table_info('sessions') WHERE name = 'questions'"); n != "0" {
		t.Error("half of the migration stayed")
	}
}

// An append that asks and answers nothing leaves the index of those who ask alone, and
// one that changes no run that of the runs.
func TestRareIndexes(t *testing.T) {
	s := fresh(t)
	plain := "head = 1, head_digest = x'00', updated_ms = 2, size = size + 1, messages = 3, first_prompt = 'x', model = 'm'"
	for index, sets := range map[string]map[string]bool{
		"asking": {plain: false, plain + ", title = 'x', cwd = 'y'": false, plain + ", run = 'x'": false, "questions = questions + 1": true},
		"runs":   {plain: false, plain + ", title = 'x', cwd = 'y'": false, "questions = questions + 1": false, "run = 'x'": true},
		"trash":  {plain: false, plain + ", title = 'x', cwd = 'y'": false, "trashed = 'x'": true},
		"owned":  {plain: false, plain + ", title = 'x', cwd = 'y', run = 'x', questions = 1": false},
	} {
		root := raw(t, s.Path(), "SELECT rootpage FROM sqlite_schema WHERE name = ?", index)
		for set, want := range sets {
			if got := opens(t, s.Path(), "UPDATE sessions SET "+set+" WHERE num = 1 AND head = 2 AND deleted = 0", root); got != want {
				t.Errorf("SET %s opens the index %s for writing: %v, want %v", set, index, got, want)
			}
		}
	}
}

// opens reports whether a statement opens the b-tree at a root page for writing.
func opens(t *testing.T, path, statement, root string) bool {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	rows, err := db.Query("EXPLAIN " + statement)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var addr, opcode, p1, p2, p3, p4, p5, comment any
	found := false
	for rows.Next() {
		if err := rows.Scan(&addr, &opcode, &p1, &p2, &p3, &p4, &p5, &comment); err != nil {
			t.Fatal(err)
		}
		found = found || opcode == "OpenWrite" && fmt.Sprint(p2) == root
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}
