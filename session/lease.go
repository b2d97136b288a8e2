package session

import (
	"fmt"
	"time"
)

// Lease is the right to write one session. Epoch grows with every new holder
// and is what stores compare; the times only tell when somebody may take over.
type Lease struct {
	Epoch   int64     `json:"epoch"`
	Holder  Holder    `json:"holder"`
	Since   time.Time `json:"since"`
	Expires time.Time `json:"expires"`
}

// BusyError says who holds a session. It wraps [ErrBusy].
type BusyError struct {
	Session string
	Lease   Lease
}

func (e *BusyError) Error() string {
	return fmt.Sprintf("session %s is open in %s since %s", e.Session, e.Lease.Holder, e.Lease.Since.Local().Format("2006-01-02 15:04:05"))
}

func (e *BusyError) Unwrap() error { return ErrBusy }
