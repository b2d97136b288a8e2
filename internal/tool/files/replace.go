package files

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/tool"
)

// originalFile is a file as it was read to be changed, or that there is none.
type originalFile struct {
	info fs.FileInfo // nil: there is none
	sum  string
	data []byte // nil: it is too large to be held
}

// replace puts data in the place of a file, whole or not at all, once its content is
// saved. When that is no longer what lies there, nothing happens. The changes are there
// when the content was replaced, also with an error.
func (f *Files) replace(ctx context.Context, call *tool.Call, p workdir.Path, data []byte, was originalFile) ([]record.FileChange, error) {
	sum := sha256.Sum256(data)
	after := hex.EncodeToString(sum[:])
	if err := save(ctx, call, p, was, after); err != nil {
		return nil, err
	}
	info, err := f.folders.Replace(p, data, was.info, 0)
	if info == nil {
		if errors.Is(err, workdir.ErrChanged) {
			err = stale(p)
		}
		return nil, err
	}
	f.remember(p.Abs, digest(info, sum[:]))
	return []record.FileChange{{Path: p.Abs, Before: was.sum, After: after}}, err
}

// save keeps what a call is about to change.
func save(ctx context.Context, call *tool.Call, p workdir.Path, was originalFile, after string) error {
	if call.Save == nil {
		return nil
	}
	i := tool.Image{Path: p.Abs, Digest: was.sum, After: after, Folders: p.Missing()}
	if was.info != nil {
		i.Existed, i.Mode, i.Size, i.Data = true, was.info.Mode().Perm(), was.info.Size(), was.data
	}
	if err := call.Save(ctx, i); err != nil {
		return fmt.Errorf("the file was not changed, because its previous content could not be saved: %w", err)
	}
	return nil
}
