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
	if err := s.gone(); err != nil {
		return s.goneError("check store", err)
	}
	if _, err := s.List(ctx, session.Query{Limit: 1}); err != nil {
		return err
	}
	return explain("check store", "", s.probe())
}

func (s *Store) goneError(op string, err error) error {
	return &session.Error{Op: op, Err: session.ErrPoisoned, Detail: err.Error(), Hint: "restore it, or start again to begin a new store"}
}

// gone tells whether the path no longer leads to the store's folder.
func (s *Store) gone() error {
	if now, err := os.Stat(s.root.Name()); err != nil || !os.SameFile(s.own, now) {
		return errors.New(s.root.Name() + " was removed, or replaced by another folder")
	}
	return nil
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
