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

// Regular is a regular file that was written by an untrusted program, open for reading. It never
// returns more bytes than its limit, even if another process writes to the file meanwhile. The
// caller that opened it closes it.
type Regular struct {
	file *os.File
	left int64
	most int64

	Size    int64 // at opening
	ModTime time.Time
	// Links is the number of hard links, or 0 if the system does not report it. A file with several
	// links may also be reachable by another name.
	Links uint64
}

// OpenRegular opens a file below root for reading. rel is a path with slashes; none of its
// components may be a link, and the last one must be a regular file of at most limit bytes. It
// never blocks: for a FIFO or a device it returns an error immediately. Errors are an [*Error] that
// wraps [ErrInvalidPath] or [ErrOutside] (for the path), [ErrNoFile], [ErrNotRegular] or
// [ErrTooLarge].
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
		return nil, notRegularError(seen.Mode())
	}
	f, err := dir.OpenFile(name, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, err
	}
	r, err := newRegular(f, seen, limit)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return r, nil
}

// newRegular checks that the opened file is the one that was checked before, and that it is within the
// limit.
func newRegular(f *os.File, seen fs.FileInfo, limit int64) (*Regular, error) {
	if err := checkSameFile(seen, f.Stat); err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, notRegularError(info.Mode())
	case info.Size() > limit:
		return nil, &Error{Err: ErrTooLarge, Detail: fmt.Sprintf("it has %d bytes, the limit is %d", info.Size(), limit)}
	}
	return &Regular{file: f, left: limit, most: limit, Size: info.Size(), ModTime: info.ModTime(), Links: links(info)}, nil
}

func notRegularError(m fs.FileMode) error {
	return &Error{Err: ErrNotRegular, Detail: "it is " + fileTypeText(m)}
}

// Read implements [io.Reader]. If the file has grown beyond its limit the error is [ErrTooLarge].
func (r *Regular) Read(p []byte) (int, error) {
	if int64(len(p)) > r.left {
		p = p[:r.left+1]
	}
	n, err := r.file.Read(p)
	if int64(n) > r.left {
		n = int(r.left)
		err = &Error{Op: "read", Err: ErrTooLarge, Detail: fmt.Sprintf("it has grown beyond the limit of %d bytes", r.most)}
	}
	r.left -= int64(n)
	return n, err
}

// Close closes the file.
func (r *Regular) Close() error { return r.file.Close() }

// readRegular reads a whole file below root, opened as by [OpenRegular].
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

// cleanPath makes a path with slashes local: "." is the root itself. Leading slashes are ignored. A path that
// leaves the root by ".." is [ErrOutside].
func cleanPath(rel string) (string, error) {
	if strings.ContainsRune(rel, 0) {
		return "", &Error{Err: ErrInvalidPath, Detail: "it has a NUL byte"}
	}
	clean := path.Clean(strings.TrimLeft(rel, "/"))
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", &Error{Err: ErrOutside}
	}
	if filepath.Separator != '/' && !filepath.IsLocal(filepath.FromSlash(clean)) {
		return "", &Error{Err: ErrInvalidPath, Detail: "the path is not valid on this system"}
	}
	return clean, nil
}

// fileError converts the error of an operation on a path to this package's errors.
func fileError(op, rel string, err error) error {
	out := &Error{Op: op, Path: fmt.Sprintf("%.200q", rel), Err: err}
	if e, ok := errors.AsType[*Error](err); ok {
		out.Err, out.Detail, out.Advice = e.Err, e.Detail, e.Advice
	} else if errors.Is(err, fs.ErrNotExist) {
		out.Err = ErrNoFile
	}
	return out
}
