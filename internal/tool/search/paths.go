package search

import (
	"context"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
)

// Paths visits the files below dir that Glob would find, as paths relative to dir. It ends when visit
// returns false. A canceled context ends it with the context's error.
func Paths(ctx context.Context, folders *workdir.Folders, dir string, visit func(rel string) bool) error {
	base, err := folders.Locate(dir)
	if err != nil {
		return err
	}
	w := &walker{ctx: ctx, base: base, hide: func(string) bool { return false }, visit: func(f file) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !visit(f.rel) {
			return errStop
		}
		return nil
	}}
	if err := w.walk(); !errors.Is(err, errStop) {
		return err
	}
	return nil
}
