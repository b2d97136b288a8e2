package file

import (
	"context"
	"errors"
	"os"

	"github.com/holdfast-dev/holdfast/session"
)

// Check implements [session.Checker]. It checks that the folder's path still leads to it and
// writes a small file there, because only a write detects a full disk.
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
	return &session.Error{Op: op, Err: session.ErrPoisoned, Detail: err.Error(), Hint: "restore the folder, or restart to create a new store"}
}

// gone returns an error if the path no longer leads to the store's folder.
func (s *Store) gone() error {
	if now, err := os.Stat(s.root.Name()); err != nil || !os.SameFile(s.dirInfo, now) {
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
