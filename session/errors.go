package session

import (
	"errors"
	"fmt"
	"strings"
)

// Sentinel errors. The functions of this package return them wrapped in an [Error].
var (
	ErrNotFound    = errors.New("no such session")
	ErrExists      = errors.New("session already exists")
	ErrConflict    = errors.New("the log has moved on")             // another writer appended first
	ErrFenced      = errors.New("the session was taken over")       // a newer lease exists
	ErrLeaseLost   = errors.New("the lease could not be renewed")   // the work under the lease was ended; another process has not necessarily taken the lease
	ErrBusy        = errors.New("the session is open elsewhere")    // see BusyError
	ErrCorrupt     = errors.New("the log is damaged")               // the Error has the session and the seq
	ErrNewer       = errors.New("written by a newer version")       // unknown format or record kind
	ErrSealed      = errors.New("the session is sealed")            // the record is encrypted or masked; see Sealed
	ErrTrashed     = errors.New("the session is in the trash")      //
	ErrInvalidID   = errors.New("invalid session id")               //
	ErrInvalid     = errors.New("invalid argument")                 // an index or option out of range
	ErrFull        = errors.New("no space left")                    // ENOSPC, EDQUOT; nothing was appended
	ErrReadOnly    = errors.New("the store is read-only")           // EROFS, EACCES on write
	ErrPoisoned    = errors.New("a write failed; reopen the store") // after a failed write or sync
	ErrUnavailable = errors.New("the store is unavailable")         // temporary: a retry may succeed; see package retry
	ErrClosed      = errors.New("closed")                           //
	ErrUnsupported = errors.New("not supported by this store")      //
)

// Error is an error for an operator: the failed operation, the session and record concerned, the
// cause, and a hint how to fix it.
type Error struct {
	Op      string // "append", "open", …
	Session string
	Seq     int64 // the record concerned, or 0
	Detail  string
	Hint    string // a command or an action; may be empty
	Err     error
}

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(e.Op)
	if e.Session != "" {
		fmt.Fprintf(&b, " session %s", e.Session)
	}
	if e.Seq != 0 {
		fmt.Fprintf(&b, " at seq %d", e.Seq)
	}
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if e.Detail != "" {
		fmt.Fprintf(&b, ": %s", e.Detail)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Hint returns the hint of the first error in the chain that has one, or "".
func Hint(err error) string {
	for err != nil {
		if e, ok := errors.AsType[*Error](err); ok {
			if e.Hint != "" {
				return e.Hint
			}
			err = e.Err
			continue
		}
		return ""
	}
	return ""
}
