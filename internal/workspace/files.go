package workspace

import (
	"container/heap"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"time"
)

// The folders of a workspace that users can browse.
const (
	HomeFiles    = "home"    // the agents' home
	ProjectFiles = "project" // the project
)

// Files gives users access to the files in one folder of a workspace: it lists, reads, writes and removes them.
// Paths use slashes and stay below the folder. A link is listed and can be removed, but never followed. Files is
// safe for concurrent use; the caller that opened it closes it.
type Files struct {
	w       *Workspaces
	slug    string
	root    *os.Root
	counted bool // written bytes are subject to the disk limit
}

// Files opens a folder of a workspace: [HomeFiles] or [ProjectFiles].
func (w *Workspaces) Files(ctx context.Context, slug, of string) (*Files, error) {
	dir, err := w.open("open files of", slug)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	s, err := w.read(dir, slug)
	if err != nil {
		return nil, err
	}
	f := &Files{w: w, slug: slug, counted: true}
	switch {
	case of == HomeFiles:
		f.root, err = openFolder(dir, homeName)
	case of == ProjectFiles && s.Project == "":
		f.root, err = openFolder(dir, projectName)
	case of == ProjectFiles:
		f.counted = false
		if p := w.checkPaths(s, nil); p != nil {
			return nil, p.error(slug)
		}
		f.root, err = os.OpenRoot(s.Project)
	default:
		return nil, &Error{Op: "open files of", Slug: slug, Err: ErrInvalidPath, Detail: fmt.Sprintf("unknown folder %.40q", of), Advice: "use home or project"}
	}
	if err != nil {
		return nil, &Error{Op: "open files of", Slug: slug, Err: err}
	}
	return f, nil
}

// Close closes the folder.
func (f *Files) Close() error { return f.root.Close() }

// File is an entry of a folder.
type File struct {
	// Name is the name on disk: it may contain line breaks, and need not be UTF-8.
	Name    string
	Type    string // "file", "folder", "link", "other"
	Size    int64  // of a regular file
	ModTime time.Time
	Links   uint64 // number of hard links, or 0 if it is unknown
	Target  string // of a link
}

// FilesQuery selects entries of a folder.
type FilesQuery struct {
	Hidden bool   // include names that begin with a dot
	After  string // return only names after this one
	Limit  int    // maximum number of entries; 0 or more than 1000 is 1000
}

// maxFiles is the maximum number of entries of a page.
const maxFiles = 1000

// FilesPage is a page of a list, by name. Next is the After of the next page, "" on the last.
type FilesPage struct {
	Path  string // of the folder, clean; "." is the top
	Files []File
	Next  string
}

// List lists a folder. It keeps at most one page in memory.
func (f *Files) List(ctx context.Context, rel string, q FilesQuery) (*FilesPage, error) {
	page, err := f.list(ctx, rel, q)
	if err != nil {
		return nil, f.error("list", rel, err)
	}
	return page, nil
}

func (f *Files) list(ctx context.Context, rel string, q FilesQuery) (*FilesPage, error) {
	clean, err := cleanPath(rel)
	if err != nil {
		return nil, err
	}
	dir, err := openBelow(f.root, clean)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	if q.Limit <= 0 || q.Limit > maxFiles {
		q.Limit = maxFiles
	}
	names, more, err := firstNames(ctx, dir, q)
	if err != nil {
		return nil, err
	}
	page := &FilesPage{Path: clean, Files: []File{}}
	for _, name := range names {
		if file, err := statFile(dir, name); err == nil {
			page.Files = append(page.Files, file)
		} else if !errors.Is(err, fs.ErrNotExist) {
			page.Files = append(page.Files, File{Name: name, Type: "other"})
		}
	}
	if more {
		page.Next = names[len(names)-1]
	}
	return page, nil
}

func statFile(dir *os.Root, name string) (File, error) {
	info, err := dir.Lstat(name)
	if err != nil {
		return File{}, err
	}
	file := File{Name: name, Type: "other", ModTime: info.ModTime(), Links: links(info)}
	switch m := info.Mode(); {
	case m.IsRegular():
		file.Type, file.Size = "file", info.Size()
	case m.IsDir():
		file.Type = "folder"
	case m&fs.ModeSymlink != 0:
		file.Type = "link"
		file.Target, _ = dir.Readlink(name) // the link may have been changed meanwhile
	}
	return file, nil
}

// firstNames returns the first names in a folder that match q, and whether there are more names.
func firstNames(ctx context.Context, dir *os.Root, q FilesQuery) (names []string, more bool, err error) {
	d, err := dir.Open(".")
	if err != nil {
		return nil, false, err
	}
	defer d.Close()
	var kept reverseHeap
	for {
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
		some, err := d.Readdirnames(1024)
		for _, name := range some {
			if name <= q.After || !q.Hidden && strings.HasPrefix(name, ".") {
				continue
			}
			if heap.Push(&kept, name); len(kept) > q.Limit {
				heap.Pop(&kept)
				more = true
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, false, err
		}
	}
	slices.Sort(kept)
	return kept, more, nil
}

// reverseHeap is a heap in which the last name is at the top.
type reverseHeap []string

func (h reverseHeap) Len() int           { return len(h) }
func (h reverseHeap) Less(i, j int) bool { return h[j] < h[i] }
func (h reverseHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }

// Push adds a name.
func (h *reverseHeap) Push(x any) {
	if name, ok := x.(string); ok {
		*h = append(*h, name)
	}
}

// Pop removes the last name.
func (h *reverseHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

// Open opens a file for reading, see [OpenRegular].
func (f *Files) Open(rel string, limit int64) (*Regular, error) {
	r, err := OpenRegular(f.root, rel, limit)
	if err != nil {
		return nil, f.error("open", rel, err)
	}
	return r, nil
}

// Remove removes a file, a link or a folder with everything below it. If the path is the top folder
// itself, the error is [ErrInvalidPath].
func (f *Files) Remove(ctx context.Context, rel string) error {
	clean, err := cleanPath(rel)
	if err == nil && clean == "." {
		err = &Error{Err: ErrInvalidPath, Detail: "the top folder cannot be removed", Advice: "name a file or folder in it"}
	}
	if err == nil {
		err = f.remove(ctx, clean)
	}
	if err != nil {
		return f.error("remove", rel, err)
	}
	return nil
}

func (f *Files) remove(ctx context.Context, clean string) error {
	dir, err := openBelow(f.root, path.Dir(clean))
	if err != nil {
		return err
	}
	defer dir.Close()
	if _, err := dir.Lstat(path.Base(clean)); err != nil {
		return err
	}
	_, err = removeTree(ctx, dir, path.Base(clean))
	return err
}

func (f *Files) error(op, rel string, err error) error {
	out := fileError(op, rel, err)
	if e, ok := errors.AsType[*Error](out); ok {
		e.Slug = f.slug
	}
	return out
}
