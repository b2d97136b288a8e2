package daemon

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/routes"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/session/retry"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// Refuse writes a problem for a request that is not authenticated. It is for the field Refuse of
// [github.com/holdfast-dev/holdfast/internal/daemon/auth.Options].
func Refuse(w http.ResponseWriter, r *http.Request, status int, code, detail, hint string) {
	title := http.StatusText(status)
	if o, ok := outcome.ByCode(code); ok {
		title = o.Meaning
	}
	p := routes.NewProblem(outcome.Outcome{Code: code, Status: status, Meaning: title}, detail, hint)
	writeProblem(w, r, p)
}

func writeProblem(w http.ResponseWriter, r *http.Request, p *api.Problem) {
	p.Instance = r.URL.EscapedPath()
	b, err := jsonscan.Marshal(p)
	if err != nil { // cannot fail: a winner's input was decoded from JSON
		http.Error(w, p.Detail, p.Status)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/problem+json")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	h.Del("ETag")
	if (p.Status == http.StatusServiceUnavailable || p.Status == http.StatusInsufficientStorage) && h.Get("Retry-After") == "" {
		h.Set("Retry-After", "2")
	}
	w.WriteHeader(p.Status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(b)
	}
}

// refuse returns an error with which the daemon answers the request.
func refuse(out outcome.Outcome, detail, hint string) error {
	return routes.NewProblem(out, detail, hint)
}

// wrapProblem is like [refuse], with the message of another error, which it wraps.
func wrapProblem(out outcome.Outcome, hint string, err error) error {
	p := routes.NewProblem(out, err.Error(), hint)
	p.Cause = err
	return p
}

// problemOf returns the problem for an error.
func problemOf(err error) *api.Problem {
	p := routes.NewProblem(outcomeOf(err), err.Error(), outcome.Hint(err))
	if e, ok := errors.AsType[*workspace.Error](err); ok {
		p.Field = e.Field
	}
	if e, ok := errors.AsType[*api.Problem](err); ok {
		p.Advice, p.Field = cmp.Or(e.Advice, p.Advice), e.Field
	}
	if e, ok := errors.AsType[*approval.AnsweredError](err); ok {
		p.Winner = &e.First
	}
	if text, hint, ok := strings.Cut(p.Detail, "; hint: "); ok && p.Advice == "" {
		p.Detail, p.Advice = text, hint
	}
	return p
}

// runOutcomes maps codes of runs to outcomes. For other codes, the outcome depends on the cause.
var runOutcomes = map[wire.Code]outcome.Outcome{
	wire.CodeRunNotFound:         outcome.NotFound,
	wire.CodeNoPendingInput:      outcome.Conflict,
	wire.CodeNoPendingPermission: outcome.NotFound,

	wire.CodeRunNotSteerable: outcome.Conflict,
	wire.CodeConflict:        outcome.Conflict,
	wire.CodeValidation:      outcome.Usage,
	wire.CodeUnauthorized:    outcome.Unauthenticated,
	wire.CodeForbidden:       outcome.Forbidden,
	wire.CodeDraining:        outcome.Unavailable,
	wire.CodeUnavailable:     outcome.Unavailable,
	wire.CodeInternal:        outcome.Failed,
}

// failureOutcomes maps codes to outcomes. It is used for errors whose cause has no outcome.
var failureOutcomes = map[wire.Code]outcome.Outcome{
	wire.CodePrepareFailed:  outcome.Usage,
	wire.CodeStartFailed:    outcome.Conflict,
	wire.CodeContinueFailed: outcome.Conflict,
}

func outcomeOf(err error) outcome.Outcome {
	if e, ok := errors.AsType[*api.Problem](err); ok {
		return e.Outcome()
	}
	if isUnavailable(err) {
		return httpOutcome(err)
	}
	if e, ok := errors.AsType[*runs.Error](err); ok {
		if out, ok := runOutcomes[e.Code]; ok {
			return out
		}
		if out := httpOutcome(e.Err); e.Err != nil && out != outcome.Failed {
			return out
		}
		if out, ok := failureOutcomes[e.Code]; ok {
			return out
		}
	}
	return httpOutcome(err)
}

// httpOutcome is like outcome.FromError, except for errors whose outcome differs between a request
// and a command.
func httpOutcome(err error) outcome.Outcome {
	switch {
	case errors.Is(err, session.ErrFull):
		return outcome.NoSpace
	case isUnavailable(err):
		return outcome.Unavailable
	case errors.Is(err, session.ErrExists), errors.Is(err, workspace.ErrExists), errors.Is(err, workspace.ErrDeleting):
		return outcome.Conflict
	case errors.Is(err, session.ErrUnsupported):
		return outcome.NotOffered
	case errors.Is(err, policy.ErrStale):
		return outcome.Stale
	case errors.Is(err, session.ErrClosed), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return outcome.Unavailable
	}
	return outcome.FromError(err)
}

// isUnavailable reports whether an error means that the daemon cannot answer any request now: the
// store is unreachable, is full or must be reopened, or the daemon is shutting down.
func isUnavailable(err error) bool {
	return retry.IsUnavailable(err) || errors.Is(err, session.ErrPoisoned) || errors.Is(err, runs.ErrDraining)
}
