//go:build !unix

package tree

import (
	"context"
	"errors"
	"io/fs"
	"os"
)

// Remove removes name from an open folder, with everything below it, as [os.Root.RemoveAll] does: it does not
// follow links.
func Remove(ctx context.Context, parent *os.File, name string) (Removed, error) {
	root, err := os.OpenRoot(parent.Name())
	if err != nil {
		return Removed{}, err
	}
	if err := ctx.Err(); err != nil {
		return Removed{}, errors.Join(err, root.Close())
	}
	if err := errors.Join(root.RemoveAll(name), root.Close()); err != nil {
		return Removed{}, &RemainingError{Count: 1, Paths: []error{err}}
	}
	return Removed{Entries: 1}, nil
}

// Measure measures what is below name in an open folder. It does not follow links.
func Measure(ctx context.Context, parent *os.File, name string, _ *Options) (Size, error) {
	root, err := os.OpenRoot(parent.Name())
	if err != nil {
		return Size{}, err
	}
	defer root.Close()
	var s Size
	err = fs.WalkDir(root.FS(), name, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil && path == name:
			return err
		case err != nil:
			s.Unreadable++
			return ctx.Err()
		case path == name:
			return nil
		case e.IsDir():
			s.Folders++
		default:
			s.Files++
		}
		if info, err := e.Info(); err == nil {
			s.Bytes += max(info.Size(), MinBytes)
		}
		return ctx.Err()
	})
	return s, err
}
