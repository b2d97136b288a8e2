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

// originalFile is the state of a file before a change; the file may not exist.
type originalFile struct {
	info fs.FileInfo // nil if there is no file
	sum  string
	data []byte // nil if it is too large for memory
}

// replace replaces a file completely or not at all, after its content is saved. It does nothing if
// the file has changed since it was read. It returns the changes if the content was replaced, even
// together with an error.
func (f *Files) replace(ctx context.Context, call *tool.Call, p workdir.Path, data []byte, was originalFile) ([]record.FileChange, error) {
	sum := sha256.Sum256(data)
	after := hex.EncodeToString(sum[:])
	if err := save(ctx, call, p, was, after); err != nil {
		return nil, err
	}
	info, err := f.folders.Replace(p, data, was.info, 0)
	if info == nil {
		if errors.Is(err, workdir.ErrChanged) {
			err = staleError(p)
		}
		return nil, err
	}
	f.remember(p.Abs, digest(info, sum[:]))
	return []record.FileChange{{Path: p.Abs, Before: was.sum, After: after}}, err
}

// save stores the state of a file that the call is about to change.
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
