// Package tree measures and removes folders that a hostile program wrote, and maybe is
// still writing.
//
//	a/b/c ──► one open folder, the names above it
//	            down: by name, never through a link, never onto another mount
//	            up:   "..", and only if that is the folder it came from
//
// So a tree may be as deep as a file system allows and a walk still holds two open
// files; what is moved, replaced or linked while it runs cannot lead it elsewhere.
// Links, FIFOs, devices and sockets are never opened. The shortest use:
//
//	removed, err := tree.Remove(ctx, parent, "home")
//	size, err := tree.Measure(ctx, parent, "home", nil)
package tree

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

var (
	// ErrMounted is a folder that another file system, or another part of one, is
	// mounted on.
	ErrMounted = errors.New("something is mounted there")
	// ErrWriting is a folder that grows as fast as it is emptied.
	ErrWriting = errors.New("somebody is still writing there")
)

// Removed is what Remove has done.
type Removed struct {
	Entries int64 // files, folders and all else
}

// RemainingError says what could not be removed, or measured.
type RemainingError struct {
	Count int     // of what is left
	Paths []error // the first ones, *fs.PathError with paths below the parent
}

func (e *RemainingError) Error() string {
	texts := make([]string, len(e.Paths))
	for i, p := range e.Paths {
		texts[i] = p.Error()
	}
	text := strings.Join(texts, "; ")
	if more := e.Count - len(e.Paths); more > 0 {
		text += fmt.Sprintf(" (and %d more)", more)
	}
	return text
}

// Unwrap returns the first errors.
func (e *RemainingError) Unwrap() []error { return e.Paths }

// maxPaths is how many of the errors are kept.
const maxPaths = 5

// Size is what a tree holds.
type Size struct {
	// Bytes are those that it takes on the disk, at least [MinBytes] for each entry:
	// so are many small files not for nothing.
	Bytes   int64
	Files   int64 // all that are no folders; one with several names counts once
	Folders int64 // below the first
	// Unreadable are folders that could not be looked into, or changed their place meanwhile.
	Unreadable int64
	// Mounted are folders that something is mounted on; nothing of that is counted.
	Mounted int64
}

// MinBytes is what an entry counts at least.
const MinBytes = 4096

// Add adds up two trees.
func (s *Size) Add(o Size) {
	s.Bytes += o.Bytes
	s.Files += o.Files
	s.Folders += o.Folders
	s.Unreadable += o.Unreadable
	s.Mounted += o.Mounted
}

// Options adjusts [Measure].
type Options struct {
	// Unlock makes folders readable for their owner that are not, where that is allowed.
	Unlock bool
	// MaxBytes ends the measuring soon after more than so many bytes were found, which is no
	// error; 0 does not. It ends then even where somebody writes faster than it reads.
	MaxBytes int64
}

// quote makes a path printable: names may hold anything. Of a long one it is the end.
func quote(path string) string {
	const most = 200
	if len(path) > most {
		path = "…" + path[len(path)-most:]
	}
	if quoted := strconv.Quote(path); strings.ContainsRune(path, utf8.RuneError) || quoted != `"`+path+`"` {
		return quoted
	}
	return path
}
