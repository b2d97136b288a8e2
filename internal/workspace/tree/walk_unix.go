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

// visitor receives the entries of a walk. Names are single components; dir is open.
type visitor interface {
	// entry visits a name, and reports whether it is a folder that the walk should enter.
	entry(dir int, name string) (folder bool, err error)
	// locked is called for a folder that cannot be opened. It reports whether to try again.
	locked(dir int, name string) bool
	// entered is called for a folder before its entries are read.
	entered(dir int)
	// exitDir is called for a folder after all its entries have been visited.
	exitDir(dir int, name string) error
	// failed is called for each entry that could not be visited, with its path below the top.
	failed(path string, err error)
}

// maxOpen is the maximum number of open folders on the current path.
const maxOpen = 16

// walker walks through a tree. It keeps only the top folder and the last folders of the current
// path open.
type walker struct {
	ctx   context.Context
	v     visitor
	stack []frame // the frames from the top to the current folder
	open  int     // index of the first frame that is open, not counting the top
}

// frame is a folder on the path from the top to the current folder.
type frame struct {
	name string // the name of the folder in its parent
	id   folderID
	file *os.File // nil if the folder is not open
	rest []string // subfolders still to visit
}

// walk visits everything below an open folder. It ends early if the context ends.
func walk(ctx context.Context, top *os.File, v visitor) error {
	id, err := folderIDOf(int(top.Fd()))
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

// current returns the current folder.
func (w *walker) current() *os.File { return w.stack[len(w.stack)-1].file }

// push makes an open folder the current one. If too many folders are open, it closes the one
// nearest to the top.
func (w *walker) push(f frame) {
	w.stack = append(w.stack, f)
	if len(w.stack)-w.open > maxOpen {
		_ = w.stack[w.open].file.Close() // it was only read
		w.stack[w.open].file = nil
		w.open++
	}
}

// cut keeps the first n folders of the path.
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

// path returns the path of a name in the current folder. It keeps only the end of a long path.
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

// read visits the entries of the current folder.
func (w *walker) read() error {
	dir := int(w.current().Fd())
	w.v.entered(dir)
	last := &w.stack[len(w.stack)-1]
	for {
		if err := w.ctx.Err(); err != nil {
			return err
		}
		names, err := w.current().Readdirnames(1024)
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

// down enters a subfolder. It skips a folder that cannot be entered.
func (w *walker) down(name string) error {
	dir := int(w.current().Fd())
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

// up returns to the parent folder, if that is still the folder from which the walk came. Otherwise
// the walk continues in the deepest folder of the path that is still in its place.
func (w *walker) up() error {
	last := len(w.stack) - 1
	name, above := w.stack[last].name, &w.stack[last-1]
	if above.file == nil {
		f, id, err := enter(int(w.current().Fd()), "..", w.stack[0].id)
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
	if err := w.v.exitDir(int(w.current().Fd()), name); err != nil {
		w.v.failed(w.path(name), err)
	}
	return nil
}

var errMoved = errors.New("it was moved during the walk")

// reopen walks from the top by name again, as far as the folders are the same.
func (w *walker) reopen() error {
	way := slices.Clone(w.stack[1 : len(w.stack)-1])
	w.cut(1)
	for _, f := range way {
		next, id, err := enter(int(w.current().Fd()), f.name, w.stack[0].id)
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

// enter opens the folder name in dir. The folder must not be a link, and must be on the same mount
// as top.
func enter(dir int, name string, top folderID) (*os.File, folderID, error) {
	f, err := openFolder(dir, name)
	if err != nil {
		return nil, folderID{}, err
	}
	id, err := folderIDOf(int(f.Fd()))
	if err == nil && !id.sameMount(top) {
		err = ErrMounted
	}
	if err != nil {
		return nil, folderID{}, errors.Join(err, f.Close())
	}
	return f, id, nil
}

// openFolder opens the folder name in dir. It must not be a link.
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

// gone reports whether an error means that a name no longer exists or is no longer a folder.
func gone(err error) bool {
	return errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP)
}

// failures collects the entries that could not be visited.
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
