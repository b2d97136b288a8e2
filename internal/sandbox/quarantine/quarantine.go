// Package quarantine stores files that sandboxed commands created under protected names.
//
//	a command creates /p/.vscode ─► the sandbox notices ─► Move ─► $HOLDFAST_HOME/quarantine/ID/
//	                                                                 item.json   its path and time
//	                                                                 .vscode     the moved file or folder
//	the user checks it ─► Restore, or Remove
//
// A Holdfast program that creates such a name does so within [Folder.MarkOwn], so that no sandbox moves it.
//
// Package sandbox determines which names are protected; this package does not.
package quarantine

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// ErrNotFound means that there is no item with that id.
var ErrNotFound = errors.New("no such quarantined item")

// Folder is the folder that contains the items: $HOLDFAST_HOME/quarantine. It need not exist.
type Folder string

// Open returns the quarantine of a HOLDFAST_HOME; if home is "", it returns "".
func Open(home string) Folder {
	if home == "" {
		return ""
	}
	return Folder(filepath.Join(home, "quarantine"))
}

// Item is one file or folder in quarantine.
type Item struct {
	ID   string    `json:"id"`
	Path string    `json:"path"` // its original path
	Time time.Time `json:"time"`
}

const itemFile = "item.json"

// Content returns the current path of the item.
func (f Folder) Content(i *Item) string {
	return filepath.Join(string(f), i.ID, filepath.Base(i.Path))
}

// List returns the items, the newest first.
func (f Folder) List() ([]Item, error) {
	entries, err := os.ReadDir(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var items []Item
	for _, e := range entries {
		if i, err := f.item(e.Name()); err == nil {
			items = append(items, *i)
		}
	}
	slices.SortFunc(items, func(a, b Item) int { return cmp.Or(b.Time.Compare(a.Time), strings.Compare(b.ID, a.ID)) })
	return items, err
}

// item returns one item, or [ErrNotFound].
func (f Folder) item(id string) (*Item, error) {
	if id == "" || !filepath.IsLocal(id) || strings.ContainsAny(id, `/\`) {
		return nil, ErrNotFound
	}
	b, err := os.ReadFile(filepath.Join(string(f), id, itemFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotFound
	}
	i := &Item{}
	if err == nil {
		err = json.Unmarshal(b, i)
	}
	if err == nil && (i.ID != id || !filepath.IsAbs(i.Path)) {
		err = fmt.Errorf("%s: it does not describe %s", itemFile, id)
	}
	return i, err
}

// Restore moves an item back to its original path. It does not replace an existing file: the error then wraps
// [fs.ErrExist].
func (f Folder) Restore(id string) (*Item, error) {
	i, err := f.item(id)
	if err != nil {
		return nil, err
	}
	err = f.MarkOwn(i.Path, func() error {
		if _, err := os.Lstat(i.Path); err == nil {
			return &fs.PathError{Op: "restore", Path: i.Path, Err: fs.ErrExist}
		}
		if err := os.MkdirAll(filepath.Dir(i.Path), 0o755); err != nil {
			return err
		}
		return rename(f.Content(i), i.Path)
	})
	if err != nil {
		return i, err
	}
	return i, os.RemoveAll(filepath.Join(string(f), id))
}

// rename moves a file or folder, also to another file system.
func rename(from, to string) error {
	err := os.Rename(from, to)
	if err == nil || !errors.Is(err, syscall.EXDEV) {
		return err
	}
	info, err := os.Lstat(from)
	switch {
	case err != nil:
		return err
	case info.IsDir():
		if err := os.CopyFS(to, os.DirFS(from)); err != nil {
			return err
		}
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err == nil {
			err = os.Symlink(target, to)
		}
		if err != nil {
			return err
		}
	default:
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(to, b, info.Mode().Perm())
		}
		if err != nil {
			return err
		}
	}
	return os.RemoveAll(from)
}

// Remove deletes an item permanently.
func (f Folder) Remove(id string) error {
	if _, err := f.item(id); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(string(f), id))
}

// newItem creates the folder of a new item.
func (f Folder) newItem(path string) (*Item, error) {
	if err := os.MkdirAll(string(f), 0o700); err != nil {
		return nil, err
	}
	now := time.Now()
	for n := 1; ; n++ {
		i := &Item{ID: fmt.Sprintf("%s-%d", now.UTC().Format("20060102-150405"), n), Path: path, Time: now.UTC().Truncate(time.Millisecond)}
		err := os.Mkdir(filepath.Join(string(f), i.ID), 0o700)
		if errors.Is(err, fs.ErrExist) && n < 10_000 {
			continue
		}
		return i, err
	}
}

// write stores the description of an item after the item was moved.
func (f Folder) write(i *Item) error {
	b, err := json.Marshal(i)
	if err != nil {
		return err
	}
	return diskfile.Write(filepath.Join(string(f), i.ID, itemFile), append(b, '\n'))
}
