package outcome

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/providers"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// Outcomer is an error that knows its outcome.
type Outcomer interface {
	error
	Outcome() Outcome
}

// sentinels maps the sentinel errors of other packages. The first match wins. Errors of packages
// that few programs link are not listed: they have a method OutcomeCode, so that a client of the
// daemon does not link an agent.
var sentinels = []struct {
	err error
	out Outcome
}{
	{session.ErrBusy, Busy},
	{session.ErrFenced, Busy},
	{session.ErrConflict, Busy},
	{session.ErrLeaseLost, Unavailable},
	{session.ErrCorrupt, Corrupt},
	{session.ErrNewer, Corrupt},
	{session.ErrNotFound, NotFound},
	{session.ErrTrashed, NotFound},
	{session.ErrSealed, Usage},
	{session.ErrInvalidID, Usage},
	{session.ErrInvalid, Usage},
	{session.ErrExists, Usage},
	{session.ErrUnsupported, Usage},
	{approval.ErrSuspend, Approval},
	{approval.ErrAnswered, Approval},
	{approval.ErrExpired, Approval},
	{approval.ErrNoRequest, NotFound},
	{approval.ErrInvalid, Usage},
	{policy.ErrInvalid, Usage},
	{policy.ErrStale, Busy},
	{policy.ErrUnknownGrant, NotFound},
	{context.Canceled, Interrupted},
}

// FromError maps an error. The outcome of a nil error is OK, and that of an unknown error is
// Failed.
func FromError(err error) Outcome {
	if err == nil {
		return OK
	}
	if e, ok := errors.AsType[*event.Error](err); ok && e.HookEvent != "" {
		return Denied
	}
	if e, ok := errors.AsType[*event.Error](err); ok && e.Code != "" {
		return withCode(e.Code)
	}
	if c, ok := errors.AsType[Outcomer](err); ok {
		return c.Outcome()
	}
	if c, ok := errors.AsType[interface {
		error
		OutcomeCode() string
	}](err); ok {
		return withCode(c.OutcomeCode())
	}
	for _, row := range sentinels {
		if errors.Is(err, row.err) {
			return row.out
		}
	}
	return Failed
}

// withCode returns the outcome with the given code. For a code of a later version it returns
// Failed.
func withCode(code string) Outcome {
	for _, o := range All() {
		if o.Code == code {
			return o
		}
	}
	return Failed
}

// Explain adds the hint and the outcome to the error in an event, so that they are part of the
// event's JSON.
func Explain(e event.Event) event.Event {
	err := event.Err(e)
	if err == nil {
		return e
	}
	explained := event.Error{Message: err.Error(), Advice: Hint(err), Code: FromError(err).Code, Cause: err}
	if by, ok := errors.AsType[*event.Error](err); ok {
		explained.HookEvent, explained.Hook, explained.HookReason = by.HookEvent, by.Hook, by.HookReason
	}
	return event.WithErr(e, &explained)
}

// FromResult maps the result of a run.
func FromResult(r *event.Result) Outcome {
	switch r.Reason {
	case event.ReasonCompleted:
		return OK
	case event.ReasonMaxTurns, event.ReasonBudget:
		return Limit
	case event.ReasonHook:
		return Denied
	case event.ReasonDeferred:
		return Approval
	case event.ReasonInterrupted:
		return Interrupted
	}
	return Failed
}

// Hint returns what to do about an error, or "". It adds information that the errors do not have,
// such as the environment variable for a provider's key.
func Hint(err error) string {
	if h := session.Hint(err); h != "" {
		return h
	}
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok && h.Hint() != "" {
		return h.Hint()
	}
	if e, ok := errors.AsType[*session.BusyError](err); ok {
		return "wait until it ends, or take it over: holdfast run --takeover --resume " + e.Session
	}
	switch {
	case errors.Is(err, session.ErrBusy), errors.Is(err, session.ErrFenced):
		return "see who has it open: holdfast sessions list"
	case errors.Is(err, session.ErrCorrupt):
		return "find the damaged records: holdfast sessions verify --all"
	case errors.Is(err, session.ErrNewer):
		return "install a newer holdfast; holdfast version prints the current one"
	case errors.Is(err, approval.ErrSuspend):
		return "list pending approvals: holdfast approvals list"
	case errors.Is(err, session.ErrFull), errors.Is(err, session.ErrReadOnly), errors.Is(err, session.ErrLeaseLost):
		return "holdfast doctor"
	}
	if e, ok := errors.AsType[*model.Error](err); ok {
		return modelHint(e)
	}
	return diskHint(err)
}

// WithHint returns a text with a hint in a line of its own; the hint can be "".
func WithHint(text, hint string) string {
	if hint == "" {
		return text
	}
	return text + "\nhint: " + hint
}

// diskHint returns a hint for a file that cannot be written. The hint depends on the cause.
func diskHint(err error) string {
	at := "it"
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		at = filepath.Dir(e.Path)
	}
	switch {
	case errors.Is(err, syscall.EROFS):
		return "the disk of " + at + " is read-only: mount it writable or, if it is your home, set HOLDFAST_HOME to a writable folder"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free space on the disk of " + at
	}
	return ""
}

func modelHint(e *model.Error) string {
	if strings.Contains(e.Message, "; hint: ") { // the error already has a hint
		return ""
	}
	switch e.Kind {
	case model.ErrorAuth:
		login := "holdfast login " + e.Provider
		known, _ := providers.Lookup(e.Provider)
		if known.KeyEnv != "" {
			login += ", or set " + known.KeyEnv
		}
		switch {
		case e.Status == http.StatusPaymentRequired, e.Status == http.StatusTooManyRequests, e.Status == http.StatusBadRequest:
			return "the account has no credit left: check the billing page of the provider"
		case e.Status == http.StatusForbidden:
			return "the key is valid but not permitted to do this; check its permissions at the provider"
		case e.Status == http.StatusUnauthorized && e.Provider != "":
			return "check that the key is complete and belongs to this provider: " + login
		case e.Status == 0 && known.KeyEnv != "":
			return login
		}
	case model.ErrorNotFound:
		return "check the model name in --model and the URL in --base-url"
	case model.ErrorNetwork:
		return "check the connection: holdfast doctor --net"
	case model.ErrorRateLimit, model.ErrorOverloaded:
		return `resume later with: holdfast run -c "continue"`
	}
	return ""
}
