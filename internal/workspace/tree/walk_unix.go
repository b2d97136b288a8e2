//go:build unix

package tree

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// visitor is what a walk is for. Names are of one component; dir is open.
type visitor interface {
	// entry is told of a name and reports whether it is a folder to go into.
	entry(dir int, name string) (folder bool, err error)
	// locked is told of a folder that may not be opened, and reports whether to try again.
	locked(dir int, name string) bool
	// entered is told of a folder before its entries are read.
	entered(dir int)
	// exitDir is told of a folder whose entries have all been visited.
	exitDir(dir int, name string) error
	// failed is told of what could not be visited, with the path below the top.
	failed(path string, err error)
}

// maxOpen is how many folders of the way are kept open.
const maxOpen = 16

// walker is a walk through a tree. The top stays open, and the last folders of the way.
type walker struct {
	ctx   context.Context
	v     visitor
	stack []frame // from the top to the present folder
	open  int     // the frame from which on all are open, besides the top
}

// frame is a folder on the way from the top to where the walk is.
type frame struct {
	name string // in the one above
	id   place
	file *os.File // nil when it is not open
	rest []string // folders in it that are still to be visited
}

// walk visits everything below an open folder. It ends early with the context.
func walk(ctx context.Context, top *os.File, v visitor) error {
	id, err := placeOf(int(top.Fd()))
	if err != nil {
		return err
	}
	w := &walker{ctx: ctx, v: v, stack: []frame{{id: id, file: top}}, open: 1}
	defer func() { w.cut(1) }()
	if err := w.read(); err != nil {
		return err
	}
	for {
		last := &w.stack[len(w.stack)-1]
		switch {
		case len(last.rest) > 0:
			name := last.rest[len(last.rest)-1]
			last.rest = last.rest[:len(last.rest)-1]
			err = w.down(name)
		case len(w.stack) == 1:
			return nil
		default:
			err = w.up()
		}
		if err != nil {
			return err
		}
	}
}

// now is the present folder.
func (w *walker) now() *os.File { return w.stack[len(w.stack)-1].file }

// push makes an open folder the present one. The one furthest up is closed for it when
// there are many.
func (w *walker) push(f frame) {
	w.stack = append(w.stack, f)
	if len(w.stack)-w.open > maxOpen {
		_ = w.stack[w.open].file.Close() // it was only read
		w.stack[w.open].file = nil
		w.open++
	}
}

// cut leaves the first n folders of the way.
func (w *walker) cut(n int) {
	for i := n; i < len(w.stack); i++ {
		if w.stack[i].file != nil {
			_ = w.stack[i].file.Close() // it was only read
		}
	}
	clear(w.stack[n:])
	w.stack = w.stack[:n]
	w.open = max(min(w.open, n), 1)
}

// path is that of a name in the present folder. Of a long one it is the end.
func (w *walker) path(name string) string {
	const most = 40
	var parts []string
	from := max(len(w.stack)-most, 1)
	if from > 1 {
		parts = append(parts, "…")
	}
	for _, f := range w.stack[from:] {
		parts = append(parts, f.name)
	}
	return strings.Join(append(parts, name), "/")
}

// read visits the entries of the present folder.
func (w *walker) read() error {
	dir := int(w.now().Fd())
	w.v.entered(dir)
	last := &w.stack[len(w.stack)-1]
	for {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		names, err := w.now().Readdirnames(1024)
		for _, name := range names {
			folder, err := w.v.entry(dir, name)
			if err != nil {
				w.v.failed(w.path(name), err)
			} else if folder {
				last.rest = append(last.rest, name)
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			w.v.failed(w.path("."), err)
			return nil
		}
	}
}

// down goes into a folder of the present one. One that cannot be entered is passed over.
func (w *walker) down(name string) error {
	dir := int(w.now().Fd())
	next, id, err := enter(dir, name, w.stack[0].id)
	if errors.Is(err, fs.ErrPermission) && w.v.locked(dir, name) {
		next, id, err = enter(dir, name, w.stack[0].id)
	}
	if err != nil {
		if !gone(err) {
			w.v.failed(w.path(name), err)
		}
		return nil
	}
	w.push(frame{name: name, id: id, file: next})
	return w.read()
}

// up goes back to the folder above the present one, if that is still the one it came
// from. Otherwise the walk goes on in the deepest one that is in its place.
func (w *walker) up() error {
	last := len(w.stack) - 1
	name, above := w.stack[last].name, &w.stack[last-1]
	if above.file == nil {
		f, id, err := enter(int(w.now().Fd()), "..", w.stack[0].id)
		if err == nil && id != above.id {
			err = errors.Join(errMoved, f.Close())
		}
		if err != nil {
			w.v.failed(w.path("."), errMoved)
			return w.reopen()
		}
		above.file, w.open = f, last-1
	}
	w.cut(last)
	if err := w.v.exitDir(int(w.now().Fd()), name); err != nil {
		w.v.failed(w.path(name), err)
	}
	return nil
}

var errMoved = errors.New("it was moved while it was looked at")

// reopen finds the way back from the top by the names, as far as it is as it was.
func (w *walker) reopen() error {
	way := slices.Clone(w.stack[1 : len(w.stack)-1])
	w.cut(1)
	for _, f := range way {
		next, id, err := enter(int(w.now().Fd()), f.name, w.stack[0].id)
		if err != nil {
			break
		}
		if id != f.id {
			_ = next.Close() // it was only opened
			break
		}
		w.push(frame{name: f.name, id: id, file: next, rest: f.rest})
	}
	return w.ctx.Err()
}

// enter opens the folder name in dir, which is no link and on the mount of top.
func enter(dir int, name string, top place) (*os.File, place, error) {
	f, err := openFolder(dir, name)
	if err != nil {
		return nil, place{}, err
	}
	id, err := placeOf(int(f.Fd()))
	if err == nil && !id.with(top) {
		err = ErrMounted
	}
	if err != nil {
		return nil, place{}, errors.Join(err, f.Close())
	}
	return f, id, nil
}

// openFolder opens the folder name in dir, which is no link.
func openFolder(dir int, name string) (*os.File, error) {
	fd, err := openat(dir, name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

func openat(dir int, name string, flags int) (int, error) {
	for {
		fd, err := unix.Openat(dir, name, flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// gone reports whether a name is not there any more, or is no folder any more.
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// failures are what could not be visited.
type failures struct {
	op    string
	count int
	first []error
}

func (f *failures) failed(path string, err error) {
	if f.count++; len(f.first) < maxPaths {
		f.first = append(f.first, &fs.PathError{Op: f.op, Path: quote(path), Err: err})
	}
}

func (f *failures) error() error {
	if f.count == 0 {
		return nil
	}
	return &RemainingError{Count: f.count, Paths: f.first}
}
