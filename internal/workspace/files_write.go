package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
)

// MaxUpload is the default limit for a written file, in bytes.
const MaxUpload = 50 << 20

// Write writes a file into a folder and creates the folder if necessary. It uses only the last
// component of name, with the separators of any system, because a file name from a browser is not
// trusted. The file becomes visible complete, or not at all, and replaces a file or a link with the
// same name. The error is [ErrTooLarge] for more than limit bytes ([MaxUpload] if limit is 0), and
// [ErrQuota] if the workspace has used up its disk.
func (f *Files) Write(ctx context.Context, folder, name string, from io.Reader, limit int64) (*File, error) {
	rel := path.Join(folder, name)
	base, err := baseName(name)
	if err == nil {
		err = f.checkQuota(ctx)
	}
	var dir *os.Root
	if err == nil {
		dir, err = f.makeFolder(folder)
	}
	if err != nil {
		return nil, f.error("write", rel, err)
	}
	defer dir.Close()
	if limit <= 0 {
		limit = MaxUpload
	}
	if err := put(ctx, dir, base, from, limit); err != nil {
		return nil, f.error("write", rel, err)
	}
	file, err := statFile(dir, base)
	if err != nil {
		return nil, f.error("write", rel, err)
	}
	return &file, nil
}

// checkQuota checks that the workspace is within its disk limit.
func (f *Files) checkQuota(ctx context.Context) error {
	if !f.counted {
		return nil
	}
	return f.w.CheckDisk(ctx, f.slug)
}

// baseName returns the file name at the end of a name that a client sent.
func baseName(name string) (string, error) {
	base := name[strings.LastIndexAny(name, `/\`)+1:]
	if base == "" || base == "." || base == ".." || len(base) > 255 || strings.ContainsRune(base, 0) {
		return "", &Error{Err: ErrInvalidPath, Detail: fmt.Sprintf("%.60q is not a file name", base), Advice: "use a name of 1 to 255 bytes"}
	}
	return base, nil
}

// makeFolder opens a folder below the root. It creates the folder and its parents if they are
// missing.
func (f *Files) makeFolder(rel string) (*os.Root, error) {
	clean, err := cleanPath(rel)
	if err != nil {
		return nil, err
	}
	dir, err := f.root.OpenRoot(".")
	if err != nil || clean == "." {
		return dir, err
	}
	for name := range strings.SplitSeq(clean, "/") {
		next, err := openFolder(dir, name)
		if errors.Is(err, fs.ErrNotExist) {
			next, err = makeIn(dir, name)
		}
		if err := errors.Join(err, dir.Close()); err != nil {
			return nil, err
		}
		dir = next
	}
	return dir, nil
}

// makeIn creates a folder that agents can use, and opens it.
func makeIn(dir *os.Root, name string) (*os.Root, error) {
	made := dir.Mkdir(name, 0o755)
	if made != nil && !errors.Is(made, fs.ErrExist) {
		return nil, made
	}
	next, err := openFolder(dir, name)
	if err != nil || made != nil { // or another process has created it
		return next, err
	}
	if err := giveEmpty(next); err != nil {
		return nil, errors.Join(err, next.Close())
	}
	return next, nil
}

// giveEmpty makes the agent the owner of a new folder. A process that can write to the parent may
// have replaced the folder. Such a folder keeps its owner.
func giveEmpty(dir *os.Root) error {
	names, err := namesIn(dir)
	if err != nil || len(names) > 0 {
		return err
	}
	return giveToAgent(dir)
}

// put writes a file under a temporary name and renames it when it is complete.
func put(ctx context.Context, dir *os.Root, name string, from io.Reader, limit int64) error {
	if seen, err := dir.Lstat(name); err == nil && seen.IsDir() {
		return notRegularError(seen.Mode())
	}
	tmp := ".holdfast-" + newID()
	f, err := dir.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	err = copyData(ctx, f, from, limit)
	if err := errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, dir.Remove(tmp))
	}
	if err := dir.Rename(tmp, name); err != nil {
		return errors.Join(err, dir.Remove(tmp))
	}
	return nil
}

func copyData(ctx context.Context, f *os.File, from io.Reader, limit int64) error {
	n, err := io.Copy(f, io.LimitReader(&cancelled{ctx, from}, limit+1))
	switch {
	case err != nil:
		return err
	case n > limit:
		return &Error{Err: ErrTooLarge, Detail: fmt.Sprintf("more than the limit of %s", Bytes(limit)), Advice: "send a smaller file"}
	}
	if uid, gid := agentUser(); os.Getuid() == 0 && uid != 0 {
		if err := f.Chown(uid, gid); err != nil {
			return err
		}
	}
	return f.Sync()
}

// cancelled is a reader that ends with a context.
type cancelled struct {
	ctx  context.Context
	from io.Reader
}

// Read reads until the data or the context ends.
func (c *cancelled) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.from.Read(p)
}
