// Package tree safely measures and removes folders that a hostile program may be writing.
//
//	a/b/c ──► one open folder, the names above it
//	            down: by name, never through a link, never onto another mount
//	            up:   "..", and only if that is the folder it came from
//
// A tree may be as deep as the file system allows, but a walk keeps only a few files open. Even if
// files are moved, replaced or linked during the walk, it does not leave the tree. Links, FIFOs,
// devices and sockets are never opened. The shortest use:
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
	// ErrMounted is the reason for a folder that was not entered because it is a mount point.
	ErrMounted = errors.New("it is a mount point")
	// ErrWriting is returned if entries are added to a folder as fast as they are removed.
	ErrWriting = errors.New("the folder is still being written")
)

// Removed is the result of Remove.
type Removed struct {
	Entries int64 // number of removed files, folders and other entries
}

// RemainingError lists what could not be removed or measured.
type RemainingError struct {
	Count int     // number of remaining entries
	Paths []error // the first errors, each an *fs.PathError with a path below the parent
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

// maxPaths is the maximum number of errors in Paths.
const maxPaths = 5

// Size is the size of a tree.
type Size struct {
	// Bytes is the space on disk. Each entry counts as at least [MinBytes], so that many small
	// files are not free.
	Bytes   int64
	Files   int64 // number of entries except folders; a file with several names is counted once
	Folders int64 // below the top
	// Unreadable is the number of folders that could not be read, or were moved during the walk.
	Unreadable int64
	// Mounted is the number of mount points; their content is not counted.
	Mounted int64
}

// MinBytes is the minimum size of an entry.
const MinBytes = 4096

// Add adds o to s.
func (s *Size) Add(o Size) {
	s.Bytes += o.Bytes
	s.Files += o.Files
	s.Folders += o.Folders
	s.Unreadable += o.Unreadable
	s.Mounted += o.Mounted
}

// Options configures [Measure].
type Options struct {
	// Unlock makes unreadable folders readable for their owner, if permitted.
	Unlock bool
	// MaxBytes ends the measurement soon after more than this many bytes were found. This is not an
	// error; 0 is no limit. With a limit the measurement ends even if a process writes faster than
	// the measurement reads.
	MaxBytes int64
}

// quote makes a path printable, because names may contain anything. It keeps only the end of a long path.
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
