package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/session"
)

// create creates the file if there is none. The file is readable only by its owner from the start,
// and gets its name only when it is complete, synced and closed. Therefore no process sees an
// incomplete file, creation costs one sync, and SQLite's locks, which end when any descriptor of
// the file is closed, are safe.
func create(path string) error {
	if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
		tighten(path)
		return err
	}
	dir := filepath.Dir(path)
	if err := makeDirs(dir); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".new-*") // mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(build(f), f.Close()); err != nil {
		return err
	}
	if err := os.Link(f.Name(), path); err == nil || errors.Is(err, fs.ErrExist) {
		return nil
	}
	// A file system without hard links: create an empty file and set it up in place.
	f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// tighten removes the rights of other users on an existing store, for example one that was copied
// or created with another umask. On file systems without modes it changes nothing.
func tighten(path string) {
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		if fi, err := os.Lstat(name); err == nil && fi.Mode().IsRegular() && fi.Mode().Perm()&0o077 != 0 {
			_ = os.Chmod(name, fi.Mode().Perm()&^0o077)
		}
	}
}

// makeDirs creates dir and its missing parents, and makes them durable. SQLite syncs the entries of
// dir itself with the first write to the journal.
func makeDirs(dir string) error {
	parent := filepath.Dir(dir)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || parent == dir {
		return err
	}
	if err := makeDirs(parent); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	d, err := os.Open(parent)
	if err != nil {
		return err
	}
	_ = d.Sync() // not supported everywhere
	return d.Close()
}

// build sets up a new file that no other process uses yet.
func build(f *os.File) error {
	c, err := dial(f.Name(), 0)
	if err != nil {
		return err
	}
	err = c.script("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; BEGIN;" + setUpSQL() + "COMMIT;")
	if err := errors.Join(err, c.close()); err != nil {
		return err
	}
	// These two bytes mark a file in WAL mode.
	if _, err := f.WriteAt([]byte{2, 2}, 18); err != nil {
		return err
	}
	return f.Sync()
}

// setUp checks that the file is a session store and writable, and sets it up if it is empty.
func (s *Store) setUp(c *conn) error {
	app, err := c.pragma("application_id")
	if err != nil {
		return err
	}
	if ro, err := c.raw.(interface{ IsReadOnly(string) (bool, error) }).IsReadOnly("main"); err == nil && ro {
		return fs.ErrPermission
	}
	if app == 0 {
		// SQLite treats a file shorter than a page as empty.
		if info, err := os.Stat(s.path); err == nil && info.Size() > 0 && info.Size() < 512 {
			return s.foreign("is not a SQLite file")
		}
		if err := s.adopt(c); err != nil {
			return err
		}
		if app, err = c.pragma("application_id"); err != nil {
			return err
		}
	}
	version, err := c.pragma("user_version")
	if err != nil {
		return err
	}
	if app == applicationID && version > formatVersion {
		return &session.Error{
			Op: "open store", Err: session.ErrNewer, Hint: "upgrade holdfast",
			Detail: fmt.Sprintf("%s has format %d, but this program supports up to %d", s.path, version, formatVersion),
		}
	}
	if app != applicationID || version < 1 {
		return s.foreign("is a SQLite file of another program")
	}
	if version < formatVersion {
		if err := migrate(c); err != nil {
			return err
		}
	}
	if err := s.useWAL(c); err != nil {
		return err
	}
	return c.listOrphans()
}

// useWAL switches a new or incompletely created file to WAL mode.
func (s *Store) useWAL(c *conn) error {
	for _, sql := range []string{"PRAGMA journal_mode", "PRAGMA journal_mode = WAL"} {
		mode, err := c.row(sql)
		if err != nil {
			return err
		}
		if len(mode) == 1 && asText(mode[0]) == "wal" {
			return nil
		}
	}
	return &session.Error{
		Op: "open store", Err: session.ErrUnsupported, Detail: s.path + " is on a file system without shared memory",
		Hint: "use a file on a local disk with --store",
	}
}

func (s *Store) foreign(what string) error {
	return &session.Error{
		Op: "open store", Err: session.ErrCorrupt, Detail: s.path + " " + what,
		Hint: "move it away, or use another file with --store",
	}
}

// setUpSQL returns the statements that make an empty file a session store, inside a transaction.
func setUpSQL() string {
	return schema + fmt.Sprintf("PRAGMA application_id = %d; PRAGMA user_version = %d;", applicationID, formatVersion)
}

// adopt sets up an empty file. If several processes try, one of them sets the file up, and the
// others find the finished file.
func (s *Store) adopt(c *conn) (err error) {
	if err := c.script("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = c.script("ROLLBACK")
		}
	}()
	app, err := c.pragma("application_id")
	if err != nil {
		return err
	}
	if app == 0 {
		tables, err := c.row("SELECT count(*) FROM sqlite_schema")
		if err != nil {
			return err
		}
		if asInt(tables[0]) != 0 {
			return s.foreign("is a SQLite file of another program")
		}
		if err := c.script(setUpSQL()); err != nil {
			return err
		}
	}
	return c.script("COMMIT")
}
