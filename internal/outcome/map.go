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

// sentinels maps the sentinels of packages below. The first match wins. Errors of packages that few programs
// link have a method OutcomeCode instead, so that a client of the daemon does not link an agent.
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

// FromError maps an error. A nil error is OK and an unknown one is Failed.
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

// withCode is the outcome with a code; Failed for one of a later version.
func withCode(code string) Outcome {
	for _, o := range All() {
		if o.Code == code {
			return o
		}
	}
	return Failed
}

// Explain adds to the error that an event has what to do about it and its outcome, so that
// they are in its JSON.
func Explain(e event.Event) event.Event {
	err := event.Err(e)
	if err == nil {
		return e
	}
	with := event.Error{Message: err.Error(), Advice: Hint(err), Code: FromError(err).Code, Cause: err}
	if by, ok := errors.AsType[*event.Error](err); ok {
		with.HookEvent, with.Hook, with.HookReason = by.HookEvent, by.Hook, by.HookReason
	}
	return event.WithErr(e, &with)
}

// FromResult maps how a run ended.
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

// Hint says what to do about an error, or "". It knows what the errors
// themselves do not: which variable holds a provider's key, for example.
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
		return "holdfast sessions list"
	case errors.Is(err, session.ErrCorrupt):
		return "holdfast sessions verify --all"
	case errors.Is(err, session.ErrNewer):
		return "install a newer holdfast; holdfast version says which this is"
	case errors.Is(err, approval.ErrSuspend):
		return "holdfast approvals list"
	case errors.Is(err, session.ErrFull), errors.Is(err, session.ErrReadOnly), errors.Is(err, session.ErrLeaseLost):
		return "holdfast doctor"
	}
	if e, ok := errors.AsType[*model.Error](err); ok {
		return modelHint(e)
	}
	return diskHint(err)
}

// diskHint says what to do about a file that cannot be written, by the cause.
func diskHint(err error) string {
	at := "it"
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		at = filepath.Dir(e.Path)
	}
	switch {
	case errors.Is(err, syscall.EROFS):
		return "the disk that holds " + at + " is read-only: mount it so that it can be written, or, where that is your home, set HOLDFAST_HOME to a folder that can"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "free space on the disk that holds " + at
	}
	return ""
}

func modelHint(e *model.Error) string {
	if strings.Contains(e.Message, "; hint: ") { // it knows better
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
			return "the account has no credit left, which waiting does not change: see the provider's page for billing"
		case e.Status == http.StatusForbidden:
			return "the key is known, and may not do this: see what it may use on the provider's page"
		case e.Status == http.StatusUnauthorized && e.Provider != "":
			return "the provider does not take the key: is it whole, and of this provider? " + login
		case e.Status == 0 && known.KeyEnv != "":
			return login
		}
	case model.ErrorNotFound:
		return "check the name after --model and the address in --base-url"
	case model.ErrorNetwork:
		return "holdfast doctor --net"
	case model.ErrorRateLimit, model.ErrorOverloaded:
		return `go on later with: holdfast run -c "go on"`
	}
	return ""
}
