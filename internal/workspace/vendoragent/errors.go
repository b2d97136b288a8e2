package vendoragent

import (
	"errors"

	"github.com/holdfast-dev/holdfast/model"
)

// TurnError reports a failed turn. Detail is the vendor's error text, or says how the process
// ended.
type TurnError struct {
	Vendor string
	Detail string
	err    *model.Error // contains the output so far
}

func (e *TurnError) Error() string { return e.Vendor + ": " + e.Detail }

func (e *TurnError) Unwrap() error { return e.err }

// errStopped is the error of a turn whose events are no longer read.
var errStopped = errors.New("the run has ended")

func isStopped(err error) bool { return errors.Is(err, errStopped) }
