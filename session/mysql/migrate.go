package mysql

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// makeTimeout is the maximum time to wait for another program that creates or migrates the tables.
const makeTimeout = 60 * time.Second

// minPacket is the minimum value of max_allowed_packet in bytes. A text of statements fits in it.
const minPacket = 1 << 20

// setUp checks that the database is a store, and creates or migrates the tables.
func (s *Store) setUp(ctx context.Context) error {
	err := s.withConn(ctx, "open store", "", func(t *tx) error {
		if _, err := t.row([]any{&s.packet, &s.compound}, "SELECT @@max_allowed_packet, @@version LIKE '%MariaDB%'"); err != nil {
			return err
		}
		if s.packet < minPacket {
			return &session.Error{
				Op: "open store", Err: session.ErrUnsupported,
				Detail: fmt.Sprintf("%s: max_allowed_packet is %d; the minimum is %d", s.addr.shown, s.packet, minPacket),
				Hint:   "SET GLOBAL max_allowed_packet = 67108864 on the server (and in its configuration)",
			}
		}
		version, err := s.version(t)
		if err != nil {
			return err
		}
		has, err := hasProcedure(t)
		if err != nil || version == formatVersion && has {
			return err
		}
		return s.makeTables(t)
	})
	if err != nil {
		return err
	}
	return s.withConn(ctx, "open store", "", func(t *tx) error {
		has, err := hasProcedure(t)
		if err != nil || !has {
			return err
		}
		s.appendCall, err = s.db.PrepareContext(ctx, callProcedure)
		return err
	})
}

// version returns the version of the tables: 0 for an empty database and for an incomplete one.
func (s *Store) version(t *tx) (int, error) {
	var tables, marked int
	if _, err := t.row([]any{&tables, &marked}, `SELECT COUNT(*), COALESCE(SUM(table_name = 'holdfast'), 0)
  FROM information_schema.tables WHERE table_schema = DATABASE()`); err != nil {
		return 0, err
	}
	if marked == 0 {
		if tables > 0 {
			return 0, s.foreign(fmt.Sprintf("it has %d tables, and none of them marks it as a store", tables))
		}
		return 0, nil
	}
	var columns int
	if _, err := t.row([]any{&columns}, `SELECT COUNT(*) FROM information_schema.columns
  WHERE table_schema = DATABASE() AND table_name = 'holdfast' AND column_name IN ('one', 'version')`); err != nil {
		return 0, err
	}
	if columns != 2 {
		return 0, s.foreign("its table holdfast does not belong to a store")
	}
	version := 0
	if _, err := t.row([]any{&version}, "SELECT version FROM holdfast WHERE one = 1"); err != nil {
		return 0, err
	}
	if version > formatVersion {
		return 0, &session.Error{
			Op: "open store", Err: session.ErrNewer,
			Detail: fmt.Sprintf("%s has version %d, but this program supports up to %d", s.addr.shown, version, formatVersion),
			Hint:   "upgrade holdfast",
		}
	}
	return version, nil
}

func (s *Store) foreign(detail string) error {
	return &session.Error{
		Op: "open store", Err: session.ErrCorrupt, Detail: s.addr.shown + " is another program's database: " + detail,
		Hint: "create a separate database: CREATE DATABASE name",
	}
}

// makeTables creates missing tables and migrates while it holds a server lock. If several programs
// try, one of them makes the tables, and the others then find them.
func (s *Store) makeTables(t *tx) (err error) {
	const name = "CONCAT('holdfast:', LEFT(SHA1(DATABASE()), 32))"
	var got sql.NullInt64
	if _, err := t.row([]any{&got}, "SELECT GET_LOCK("+name+", ?)", int64(makeTimeout/time.Second)); err != nil {
		return err
	}
	if got.Int64 != 1 {
		return &session.Error{
			Op: "open store", Err: session.ErrBusy, Detail: s.addr.shown + ": another program has been creating its tables for a minute",
			Hint: "find it with: SHOW PROCESSLIST",
		}
	}
	defer func() {
		if _, e := t.exec("DO RELEASE_LOCK(" + name + ")"); err == nil {
			err = e
		}
	}()
	version, err := s.version(t)
	if err != nil {
		return err
	}
	if version == 0 {
		if _, err := t.exec(marker); err != nil {
			return err
		}
		if _, err := t.exec("INSERT IGNORE INTO holdfast (one, version) VALUES (1, 0)"); err != nil {
			return err
		}
	}
	for ; version < formatVersion; version++ {
		for _, statement := range migrations[version] {
			if _, err := t.exec(statement); err != nil {
				return err
			}
		}
		if _, err := t.exec("UPDATE holdfast SET version = ? WHERE one = 1", int64(version+1)); err != nil {
			return err
		}
	}
	return makeProcedures(t)
}

// makeProcedures creates the procedure if it is missing: a dump may not include it. If the server
// or the user's rights do not allow a procedure, appends work without it.
func makeProcedures(t *tx) error {
	has, err := hasProcedure(t)
	if err != nil || has {
		return err
	}
	for _, statement := range []string{dropProcedure, makeProcedure} {
		if _, err := t.exec(statement); err != nil {
			if errorCode(err) != 0 && !isLost(err) {
				return nil
			}
			return err
		}
	}
	return nil
}

func hasProcedure(t *tx) (bool, error) {
	var n int
	_, err := t.row([]any{&n}, `SELECT COUNT(*) FROM information_schema.routines
  WHERE routine_schema = DATABASE() AND routine_name = ? AND routine_type = 'PROCEDURE'`, procedureName)
	return n > 0, err
}
