// Package salvage copies the readable rows of a damaged sessions.db into a new file.
//
//	sessions.db, -wal ─► every page with rows, even if it cannot be reached from a root
//	                       ├─ a session's row ─┐
//	                       ├─ a record ────────┼─► a new store ─► verified, replaces the old one
//	                       └─ the last epoch ──┘
//	the damaged files ─► sessions.db.damaged-…, which stays
//
// It does not repair logs: [session.Sessions.Verify] reports the records that a log lacks. Rows are
// recognized by their form alone, so that a file without header and schema can be read too.
package salvage

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	modernc "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// Result counts what was read.
type Result struct {
	Pages    int64  `json:"pages"`          // pages of the damaged file
	Read     int64  `json:"pages_read"`     // pages with readable rows
	Sessions int    `json:"sessions"`       // session rows
	Records  int    `json:"records"`        // records of all sessions
	Backup   string `json:"kept,omitempty"` // the damaged file
}

// The forms of rows, see docs/formats/sqlite.md.
const (
	sessionColumns = 24
	recordColumns  = 7
	chainSize      = 96
)

// Damaged describes the damage of a database as a whole. It returns "" if there is no damage or no
// database, or if the database cannot be opened for another reason.
func Damaged(ctx context.Context, path string) string {
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path)+"?mode=ro")
	if err != nil {
		return ""
	}
	defer db.Close()
	var result string
	err = db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&result)
	if e, ok := errors.AsType[*modernc.Error](err); ok {
		switch e.Code() & 0xff {
		case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
			return e.Error()
		case sqlite3.SQLITE_IOERR:
			if e.Code() == sqlite3.SQLITE_IOERR_SHORT_READ {
				return e.Error()
			}
		}
	}
	if err != nil || result == "ok" {
		return ""
	}
	return result
}

// Salvage replaces a damaged file by a new one with its readable rows. No process may have the
// store open: otherwise the error wraps [session.ErrBusy]. If no session can be read, the error
// wraps [session.ErrCorrupt] and nothing is changed. If dry is true, nothing is changed either.
func Salvage(ctx context.Context, path string, dry bool, now time.Time) (*Result, error) {
	if used, err := inUse(path); err != nil || used {
		return nil, errors.Join(err, &session.Error{
			Op: "repair", Err: session.ErrBusy, Detail: path + " is open in another process", Hint: "end it, and stop the daemon: holdfast daemon stop",
		})
	}
	from, err := openDatabase(path)
	if err != nil {
		return nil, err
	}
	defer from.close()
	r := &Result{}
	if dry {
		return r, r.copy(from, func(string, ...any) error { return nil })
	}
	temp := filepath.Join(filepath.Dir(path), ".new-salvaged-"+filepath.Base(path))
	if err := remove(temp); err != nil {
		return nil, err
	}
	if err := build(ctx, temp, from, r); err != nil {
		return nil, errors.Join(err, remove(temp))
	}
	r.Backup = fmt.Sprintf("%s.damaged-%s", path, now.UTC().Format("20060102-150405"))
	for _, end := range []string{"-wal", "-shm", ""} {
		if err := os.Rename(path+end, r.Backup+end); err != nil && (end == "" || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
	}
	return r, os.Rename(temp, path)
}

// build creates and closes a store with the readable rows.
func build(ctx context.Context, path string, from *database, r *Result) error {
	store, err := sqlite.Open(path, nil)
	if err == nil {
		err = store.Close()
	}
	if err != nil {
		return err
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // no effect after the commit
	err = r.copy(from, func(query string, args ...any) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
	if err == nil {
		err = tx.Commit()
	}
	if err == nil {
		_, err = db.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	}
	return errors.Join(err, db.Close())
}

// copy copies the readable rows. An epoch must never be used twice: if the last one is lost, the
// current time is used, which is greater than any epoch.
func (r *Result) copy(from *database, exec func(query string, args ...any) error) error {
	insertSession := "INSERT OR IGNORE INTO sessions VALUES (?" + strings.Repeat(", ?", sessionColumns-1) + ")"
	epoch, failed := int64(0), error(nil)
	seen := map[int64]bool{}
	tables, all, err := from.rows(func(rowid int64, c []any) {
		var err error
		switch {
		case isSession(c):
			r.Sessions++
			c[0] = rowid
			err = exec(insertSession, c...)
		case isRecord(c) && !seen[c[1].(int64)]:
			seen[c[1].(int64)] = true
			r.Records++
			err = exec("INSERT OR IGNORE INTO records VALUES (?, ?, ?, ?, ?, ?, ?)", append([]any{rowid}, c[1:]...)...)
		case len(c) == 1:
			if last, ok := c[0].(int64); ok {
				epoch = max(epoch, last)
			}
		}
		failed = errors.Join(failed, err)
	})
	r.Read, r.Pages = tables, all
	switch {
	case err != nil || failed != nil:
		return errors.Join(err, failed)
	case r.Sessions+r.Records == 0:
		return &session.Error{Op: "repair", Err: session.ErrCorrupt, Detail: "nothing of sessions can be read in " + from.file.Name(), Hint: "move it away, and a new one is made"}
	case epoch == 0:
		epoch = time.Now().Unix()
	}
	return exec("UPDATE epochs SET last = ?", epoch+1)
}

// isSession reports whether a row has the form of a session: the row number, for which SQLite
// stores NULL, then the id, the head and the digest of the head.
func isSession(c []any) bool {
	if len(c) != sessionColumns || c[0] != nil {
		return false
	}
	id, text := c[1].(string)
	head, number := c[2].(int64)
	digest, blob := c[3].([]byte)
	return text && number && blob && id != "" && head >= 0 && len(digest) == 32
}

// isRecord reports whether a row has the form of a record: the row number, for which SQLite stores
// NULL, then the key, id, time, kind, chain and payload.
func isRecord(c []any) bool {
	if len(c) != recordColumns || c[0] != nil {
		return false
	}
	key, number := c[1].(int64)
	_, id := c[2].(string)
	_, when := c[3].(int64)
	kind, text := c[4].(string)
	chain, blob := c[5].([]byte)
	_, payload := c[6].([]byte)
	return number && key > 0 && id && when && text && kind != "" && blob && len(chain) == chainSize && (payload || c[6] == nil)
}

func remove(path string) error {
	var all error
	for _, end := range []string{"", "-wal", "-shm", "-holders"} {
		if err := os.Remove(path + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			all = errors.Join(all, err)
		}
	}
	return all
}
