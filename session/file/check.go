package file

import (
	"context"
	"errors"
	"os"

	"github.com/holdfast-dev/holdfast/session"
)

// Check implements [session.Checker]: it looks whether the folder still is what its path
// leads to, and writes a small file there, since a full disk shows only then.
func (s *Store) Check(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	own, err := s.dir.Stat()
	if err != nil {
		return explain("check store", "", err)
	}
	if now, err := os.Stat(s.root.Name()); err != nil || !os.SameFile(own, now) {
		return &session.Error{
			Op: "check store", Err: session.ErrPoisoned, Detail: s.root.Name() + " was removed, or replaced by another folder",
			Hint: "restore it, or start again to begin a new store",
		}
	}
	if _, err := s.List(ctx, session.Query{Limit: 1}); err != nil {
		return err
	}
	return explain("check store", "", s.probe())
}

func (s *Store) probe() error {
	f, err := os.CreateTemp(s.root.Name(), ".probe-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	err = s.disk.write(f, make([]byte, 64<<10), 0)
	return errors.Join(err, f.Close())
}
