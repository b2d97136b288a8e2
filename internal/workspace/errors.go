package workspace

import (
	"errors"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// Errors of this package, wrapped in an [Error].
var (
	ErrNoEngine    = engine.ErrNoEngine
	ErrNotFound    = errors.New("no such workspace")
	ErrExists      = errors.New("the workspace exists already")
	ErrDeleting    = errors.New("the workspace is half deleted") // another delete completes the deletion
	ErrDamaged     = errors.New("the workspace is damaged")      // another program changed its folder or its settings
	ErrNewer       = errors.New("written by a newer version")    // format of the settings
	ErrInvalid     = errors.New("invalid workspace settings")
	ErrInvalidSlug = errors.New("invalid workspace name")
	ErrInvalidPath = errors.New("invalid path")
	ErrOutside     = errors.New("the path leaves the folder") // by "..", or through a link
	ErrNoFile      = errors.New("no such file or folder")     // in a workspace's folders
	ErrNotRegular  = errors.New("not a regular file")         // a link, a folder, a FIFO, a device, a socket
	ErrTooLarge    = errors.New("too large")
	ErrQuota       = errors.New("the workspace has used up its disk") // see Limits.Disk
	ErrLeftover    = errors.New("not everything could be removed")
	ErrWriting     = errors.New("the folder is still being written") // during its removal
)

// Error is an error for the operator: the operation, the workspace and path, the reason, and how to fix it.
type Error struct {
	Op     string // "create", "delete", …
	Slug   string
	Path   string // path of a file, with line and column for an error in its text; or ""
	Field  string // name of the invalid setting, such as mounts[0].at; or ""
	Detail string
	Advice string // a command or action, may be empty
	Err    error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Slug != "" {
		b.WriteString(" workspace " + e.Slug)
	}
	if e.Path != "" {
		b.WriteString(": " + e.Path)
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Detail != "" {
		b.WriteString(": " + e.Detail)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

const opReadSettings = "read settings"

// Hint returns how to fix the error, or "".
func (e *Error) Hint() string { return e.Advice }

// outcomes maps errors to outcomes. The first match wins.
var outcomes = []struct {
	err error
	out outcome.Outcome
}{
	{ErrNotFound, outcome.NotFound},
	{ErrNoFile, outcome.NotFound},
	{ErrNoEngine, outcome.NoEngine},
	{ErrNoImage, outcome.NoEngine},
	{ErrNoProgram, outcome.NoEngine},
	{ErrNoAnswer, outcome.NoEngine},
	{engine.ErrTimeout, outcome.NoEngine},
	{ErrForeign, outcome.Conflict},
	{engine.ErrConflict, outcome.Conflict},
	{ErrWrongUser, outcome.Usage},
	{ErrUnreachable, outcome.Usage},
	{ErrQuota, outcome.Full},
	{ErrWriting, outcome.Busy},
	{ErrOutside, outcome.Forbidden},
	{ErrTooLarge, outcome.TooLarge},
	{ErrExists, outcome.Usage},
	{ErrInvalid, outcome.Usage},
	{ErrInvalidSlug, outcome.Usage},
	{ErrInvalidPath, outcome.Usage},
	{ErrNotRegular, outcome.Usage},
	{ErrDeleting, outcome.Usage},
	{ErrDamaged, outcome.Corrupt},
	{ErrNewer, outcome.Corrupt},
}

// Outcome returns the exit outcome of a command that fails with the error.
func (e *Error) Outcome() outcome.Outcome {
	if e.Op == opReadSettings { // the error is in the file on disk, not in the input
		return outcome.Corrupt
	}
	for _, row := range outcomes {
		if errors.Is(e.Err, row.err) {
			return row.out
		}
	}
	return outcome.FromError(e.Err)
}
