// Package workdir locates paths inside the folders that a session's tools may access, and reads and
// replaces files there. A path that leads outside of the folders is refused.
//
//	folders, err := workdir.Open(cwd)
//	place, err := folders.Locate("src/a.go")
//	file, info, err := place.Open()
package workdir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/truncate"
)

// Folders are the directories that a session's tools may access, and the current directory
// inside them.
//
//	"src/../a.txt" ──clean──► "/w/a.txt" ──which folder──► /w ──walk links──► Place{Root, "a.txt"}
//
// Every folder is opened once, as an [os.Root]. Nothing that a model does later extends it: not the
// choice of a current directory, a new link, or a renamed parent. It is safe for concurrent use.
type Folders struct {
	list    []folder // never changes
	home    string
	markOwn func(path string, makes func() error) error // runs around the creation of files; may be nil

	mu       sync.RWMutex
	cwd      string
	readOnly []*folder // read-only folders; opened on first use
}

type folder struct {
	given, real string // the path that was given, and the path without links
	root        *os.Root
	unseal      *unsealer // nil if files are not sealed
}

// Open opens the folders of a session: dir, which is also the first current directory, and the
// folders in more. The caller closes the result when the session's tools have stopped.
func Open(dir string, more ...string) (*Folders, error) {
	f := &Folders{}
	f.home, _ = os.UserHomeDir()
	for _, d := range append([]string{dir}, more...) {
		opened, err := openFolder(d)
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		f.list = append(f.list, opened)
	}
	f.cwd = f.list[0].real
	return f, nil
}

func openFolder(dir string) (folder, error) {
	given, err := filepath.Abs(dir)
	if err != nil {
		return folder{}, fmt.Errorf("open folder %s: %w", dir, err)
	}
	plain, err := filepath.EvalSymlinks(given)
	if err != nil {
		return folder{}, fmt.Errorf("open folder: %w", err)
	}
	root, err := os.OpenRoot(plain)
	if err != nil {
		return folder{}, fmt.Errorf("open folder: %w", err)
	}
	return folder{given: given, real: plain, root: root}, nil
}

// Close closes the folders. Paths that were located before become invalid.
func (f *Folders) Close() error {
	var errs []error
	for _, d := range f.list {
		errs = append(errs, d.root.Close())
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.readOnly {
		if d.root != nil {
			errs = append(errs, d.root.Close())
		}
	}
	f.readOnly = nil
	return errors.Join(errs...)
}

// Roots returns the folders as absolute paths without links.
func (f *Folders) Roots() []string {
	var list []string
	for _, d := range f.list {
		list = append(list, d.real)
	}
	return list
}

// Cwd returns the current directory: absolute, without links, inside a folder.
func (f *Folders) Cwd() string {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.cwd
}

// SetCwd changes the current directory. For a directory outside of the folders, it returns
// [ErrOutside].
func (f *Folders) SetCwd(path string) error {
	p, err := f.Locate(path)
	if err != nil {
		return err
	}
	info, err := p.Stat()
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &PathError{Path: path, Err: errors.New("not a directory")}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cwd = p.Abs
	return nil
}

// Reasons for refusing a path; see [PathError].
var (
	ErrOutside = errors.New("outside the session's folders")
	ErrBadPath = errors.New("invalid path")
)

// PathError refuses a path. Its text is intended for the model and for users.
type PathError struct {
	Path string // as given
	Err  error  // ErrOutside, ErrBadPath, or an error of the operating system
	Help string // how to fix it; may be empty
}

func (e *PathError) Error() string {
	s := fmt.Sprintf("%s: %v", truncate.String(e.Path, 200), e.Err)
	if e.Help != "" {
		s += "\nhint: " + e.Help
	}
	return s
}

// Unwrap returns the reason.
func (e *PathError) Unwrap() error { return e.Err }

// Hint returns how to fix the problem.
func (e *PathError) Hint() string { return e.Help }

// Locate returns the place to which a path leads. The path is absolute, relative to the current
// directory, or "~/…" if that is inside a folder. First, elements like ".." are removed from the
// text of the path ("a/../b" becomes "b", even if a is a link). Then links are followed inside the
// folder. A link to a place outside of its folder is refused. Every absolute link is refused, even
// if it points inside the folder, as in [os.Root]. The last parts of the path need not exist.
// Errors are *[PathError] with [ErrOutside], [ErrBadPath], or an error of the system.
func (f *Folders) Locate(path string) (Path, error) {
	abs, err := f.absolute(path)
	if err != nil {
		return Path{}, err
	}
	at := f.find(abs)
	if at == nil {
		return Path{}, f.outsideError(path, abs)
	}
	given := at.rel(abs)
	rel, err := resolveLinks(at.root, given)
	if errors.Is(err, ErrOutside) {
		return Path{}, &PathError{Path: path, Err: err, Help: "symbolic links must be relative and stay inside their folder"}
	}
	if err != nil {
		return Path{}, &PathError{Path: path, Err: bareError(err)}
	}
	p := Path{Root: at.root, Rel: rel, Abs: filepath.Join(at.real, rel), unseal: at.unseal}
	if given != rel {
		p.Named = filepath.Join(at.real, given)
	}
	return p, nil
}

func (f *Folders) absolute(path string) (string, error) {
	bad := func(why string) (string, error) {
		return "", &PathError{Path: fmt.Sprintf("%q", path), Err: fmt.Errorf("%w: %s", ErrBadPath, why)}
	}
	switch {
	case path == "":
		return bad("empty")
	case strings.ContainsRune(path, 0):
		return bad("contains a NUL")
	case len(path) > 4095:
		return bad("longer than 4095 bytes")
	case slices.ContainsFunc(strings.Split(path, "/"), func(part string) bool { return len(part) > 255 }):
		return bad("a name is longer than 255 bytes")
	}
	if path == "~" || strings.HasPrefix(path, "~/") {
		path = f.home + path[1:]
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(f.Cwd(), path)
	}
	return filepath.Clean(path), nil
}

// find returns the outermost folder that contains an absolute path, or nil.
func (f *Folders) find(abs string) *folder {
	var best *folder
	for i := range f.list {
		d := &f.list[i]
		if (within(d.real, abs) || within(d.given, abs)) && (best == nil || len(d.real) < len(best.real)) {
			best = d
		}
	}
	return best
}

func (f *Folders) outsideError(path, abs string) error {
	return &PathError{
		Path: path,
		Err:  fmt.Errorf("%w (%s)", ErrOutside, strings.Join(f.Roots(), ", ")),
		Help: "holdfast run --add-dir " + filepath.Dir(abs),
	}
}

// rel converts an absolute path inside the folder to a path relative to the folder.
func (d *folder) rel(abs string) string {
	base := d.real
	if !within(base, abs) {
		base = d.given
	}
	rel := strings.TrimPrefix(strings.TrimPrefix(abs, base), "/")
	if rel == "" {
		return "."
	}
	return rel
}

// within reports whether a clean absolute path is dir, or is below it: /w/app does not contain
// /w/app-evil.
func within(dir, abs string) bool {
	return abs == dir || dir == "/" || strings.HasPrefix(abs, dir+"/")
}

// bareError removes the operation and the path from an error, because the caller's message already
// contains them.
func bareError(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// unsealer opens the content of files that may be sealed.
type unsealer struct {
	open func(path string, content []byte) ([]byte, error)
}

// SetMarkOwn sets a function that calls makes, which creates a file, so that the sandbox does not
// attribute the file to a command. It is used if the name of the file, or of a folder above it,
// starts with a dot. Call SetMarkOwn before the folders are used.
func (f *Folders) SetMarkOwn(mark func(path string, makes func() error) error) { f.markOwn = mark }

// MarkOwn calls the function makes, which creates path; see [Folders.SetMarkOwn].
func (f *Folders) MarkOwn(path string, makes func() error) error {
	if f.markOwn == nil || !strings.Contains(path, string(filepath.Separator)+".") {
		return makes()
	}
	return f.markOwn(path, makes)
}

// Unseal makes [Path.Open] decrypt sealed files in one of the folders. The function open gets the
// path and content of a file and returns its text, or returns the same slice if the file is not
// sealed. Call it before the folders are used.
func (f *Folders) Unseal(dir string, open func(path string, content []byte) ([]byte, error)) {
	for i := range f.list {
		if d := &f.list[i]; d.given == dir || d.real == dir {
			d.unseal = &unsealer{open}
		}
	}
}

// AddReadOnly adds a folder in which [Folders.LocateRead] also finds paths. The folder is opened
// when it is first used.
func (f *Folders) AddReadOnly(dir string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readOnly = append(f.readOnly, &folder{given: filepath.Clean(dir)})
}

// LocateRead is like Locate, for reading only: it also finds paths in the folders of
// [Folders.AddReadOnly].
func (f *Folders) LocateRead(path string) (Path, error) {
	p, err := f.Locate(path)
	if !errors.Is(err, ErrOutside) {
		return p, err
	}
	abs, bad := f.absolute(path)
	if bad != nil || f.find(abs) != nil {
		return p, err
	}
	d := f.readOnlyFolder(abs)
	if d == nil {
		return p, err
	}
	given := d.rel(abs)
	rel, wrong := resolveLinks(d.root, given)
	if wrong != nil {
		return p, &PathError{Path: path, Err: bareError(wrong)}
	}
	p = Path{Root: d.root, Rel: rel, Abs: filepath.Join(d.real, rel)}
	if named := filepath.Join(d.real, given); named != p.Abs {
		p.Named = named
	}
	return p, nil
}

// readOnlyFolder opens the read-only folder that contains a path, or returns nil.
func (f *Folders) readOnlyFolder(abs string) *folder {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.readOnly {
		if !within(d.given, abs) && !within(d.resolved(), abs) {
			continue
		}
		if d.root == nil {
			opened, err := openFolder(d.given)
			if err != nil {
				continue
			}
			*d = opened
		}
		if within(d.given, abs) || within(d.real, abs) {
			return d
		}
	}
	return nil
}

// resolved returns the folder's path without links, even if the folder is not open yet. If the
// folder is missing, it returns the given path.
func (d *folder) resolved() string {
	if d.root != nil {
		return d.real
	}
	if plain, err := filepath.EvalSymlinks(d.given); err == nil {
		return plain
	}
	return d.given
}
