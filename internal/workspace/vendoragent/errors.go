package vendoragent

import (
	"errors"

	"github.com/holdfast-dev/holdfast/model"
)

// TurnError says that a guest's turn failed, in the guest's words or about its process.
type TurnError struct {
	Vendor string
	Detail string
	err    *model.Error // with what had arrived
}

func (e *TurnError) Error() string { return e.Vendor + ": " + e.Detail }

func (e *TurnError) Unwrap() error { return e.err }

// errStopped says that nobody listens any more.
var errStopped = errors.New("nobody listens any more")

func errIsStopped(err error) bool { return errors.Is(err, errStopped) }
