package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// Regular is a regular file that was written by a program nobody trusts, open for
// reading. It never yields more than the bound that it was opened with, however much
// is written to it meanwhile. Whoever opened it closes it.
type Regular struct {
	file *os.File
	left int64
	most int64

	Size    int64 // when it was opened
	ModTime time.Time
	// Links is how many names the file has; 0 where the system does not say. One with
	// several may be known elsewhere by another name.
	Links uint64
}

// OpenRegular opens a file below root for reading. rel is a path with slashes; none of
// its components may be a link, and the last one must be a regular file of at most limit
// bytes. It waits for nobody: a FIFO or a device in its place is an error at once.
// Errors are [*Error] around [ErrInvalidPath] or [ErrOutside] (the path), [ErrNoFile],
// [ErrNotRegular] and [ErrTooLarge].
func OpenRegular(root *os.Root, rel string, limit int64) (*Regular, error) {
	f, err := openRegular(root, rel, limit)
	if err != nil {
		return nil, fileError("open", rel, err)
	}
	return f, nil
}

func openRegular(root *os.Root, rel string, limit int64) (*Regular, error) {
	clean, err := cleanPath(rel)
	if err != nil {
		return nil, err
	}
	dir, err := openBelow(root, path.Dir(clean))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	name := path.Base(clean)
	seen, err := dir.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !seen.Mode().IsRegular() {
		return nil, notRegular(seen.Mode())
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, err
	}
	r, err := check(f, seen, limit)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// check looks at what was opened: it must be what was seen, and as large as it may be.
func check(f *os.File, seen fs.FileInfo, limit int64) (*Regular, error) {
	if err := same(seen, f.Stat); err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, notRegular(info.Mode())
	case info.Size() > limit:
		return nil, &Error{Err: ErrTooLarge, Detail: fmt.Sprintf("%d bytes, at most %d are read", info.Size(), limit)}
	}
	return &Regular{file: f, left: limit, most: limit, Size: info.Size(), ModTime: info.ModTime(), Links: links(info)}, nil
}

func notRegular(m fs.FileMode) error { return &Error{Err: ErrNotRegular, Detail: "it is " + what(m)} }

// Read reads on. When the file has grown beyond its bound the error is [ErrTooLarge].
func (r *Regular) Read(p []byte) (int, error) {
	if int64(len(p)) > r.left {
		p = p[:r.left+1]
	}
	n, err := r.file.Read(p)
	if int64(n) > r.left {
		n = int(r.left)
		err = &Error{Op: "read", Err: ErrTooLarge, Detail: fmt.Sprintf("it has grown beyond %d bytes", r.most)}
	}
	r.left -= int64(n)
	return n, err
}

// Close closes the file.
func (r *Regular) Close() error { return r.file.Close() }

// readRegular reads a whole file below root, as [OpenRegular] opens it.
func readRegular(root *os.Root, rel string, limit int64) ([]byte, error) {
	r, err := OpenRegular(root, rel, limit)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, fileError("read", rel, err)
	}
	return b, nil
}

// cleanPath makes a path with slashes local: "." is the root itself. Slashes at its
// beginning do not count. One that leaves the root by ".." is [ErrOutside].
func cleanPath(rel string) (string, error) {
	if strings.ContainsRune(rel, 0) {
		return "", &Error{Err: ErrInvalidPath, Detail: "it has a NUL byte"}
	}
	clean := path.Clean(strings.TrimLeft(rel, "/"))
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", &Error{Err: ErrOutside}
	}
	if filepath.Separator != '/' && !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", &Error{Err: ErrInvalidPath, Detail: "it is no path here"}
	}
	return clean, nil
}

// fileError says what was attempted on a path, by the contracts of this package.
func fileError(op, rel string, err error) error {
	out := &Error{Op: op, Path: fmt.Sprintf("%.200q", rel), Err: err}
	if e, ok := errors.AsType[*Error](err); ok {
		out.Err, out.Detail, out.Advice = e.Err, e.Detail, e.Advice
	} else if errors.Is(err, fs.ErrNotExist) {
		out.Err = ErrNoFile
	}
	return out
}
