package stores

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/inputlog"
	"github.com/holdfast-dev/holdfast/internal/outputs"
	"github.com/holdfast-dev/holdfast/internal/session/search"
	"github.com/holdfast-dev/holdfast/session"
)

// copies lists the copies of a store's sessions that this home folder keeps outside the store, so
// that erasing and deleting can find them. homeEntries lists the other files in the home folder,
// and for each the reason why it is not in the list.
func copies(e *env.Env, ref Ref, store session.Store) ([]session.ExternalCopies, error) {
	if ref.InMemory() {
		return nil, nil
	}
	home, err := e.Home()
	if err != nil {
		return nil, nil //nolint:nilerr // without a home folder there are no copies
	}
	path, err := LocalDir(e, ref, "index")
	if err != nil {
		return nil, err
	}
	list := []session.ExternalCopies{
		&outputs.Eraser{Dir: filepath.Join(home, "output"), Store: ref.Name, Sealer: sealer(ref, store)},
		&exportCopies{filepath.Join(home, "exports"), ref.Name},
		&inputCopies{filepath.Join(home, inputlog.Name)},
	}
	for _, path := range []string{path + ".db", path + "-opened.db"} {
		list = append(list, &indexCopies{path, store})
	}
	return list, nil
}

// sealer returns the sealer for files next to a sealed store, or nil if the store is not sealed.
func sealer(ref Ref, store session.Store) outputs.Sealer {
	if !ref.Encrypted {
		return nil
	}
	s, _ := session.As[outputs.Sealer](store)
	return s
}

// indexCopies removes sessions from an index of this home folder. The next search reads them again.
type indexCopies struct {
	path  string
	store session.Store
}

// Find implements [session.ExternalCopies].
func (h *indexCopies) Find(_ context.Context, e *session.Erasing) ([]session.ExternalCopy, error) {
	if !h.exists() || !e.Changed {
		return nil, nil
	}
	return []session.ExternalCopy{{Session: e.Session, Kind: "index", Path: h.path}}, nil
}

// Erase implements [session.ExternalCopies].
func (h *indexCopies) Erase(ctx context.Context, e *session.Erasing) error {
	return h.Forget(ctx, e.Session, nil)
}

// Forget implements [session.ExternalCopies].
func (h *indexCopies) Forget(ctx context.Context, id string, _ iter.Seq2[session.Record, error]) error {
	if !h.exists() {
		return nil
	}
	x, err := search.Open(ctx, h.path, h.store)
	if err != nil {
		return err
	}
	return errors.Join(x.Forget(ctx, id), x.Close())
}

func (h *indexCopies) exists() bool {
	_, err := os.Stat(h.path)
	return !errors.Is(err, fs.ErrNotExist)
}
