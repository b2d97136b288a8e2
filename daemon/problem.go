package daemon

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/retry"
	"github.com/holdfast-dev/holdfast/workspace"
)

// Problem is what a request that failed is answered with (RFC 9457), as
// application/problem+json.
type Problem struct {
	Type     string `json:"type" jsonschema:"urn:holdfast:problem: and the code"`
	Title    string `json:"title" jsonschema:"what such problems have in common"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty" jsonschema:"what is wrong here"`
	Instance string `json:"instance,omitempty" jsonschema:"the path that was asked for"`
	Code     string `json:"code" jsonschema:"as in docs/cli.md and docs/http.md"`
	Hint     string `json:"hint,omitempty" jsonschema:"what to do about it"`
	Field    string `json:"field,omitempty" jsonschema:"of the settings of a workspace: what cannot be used, such as mounts[0].at"`

	// Winner is the answer that counts, where somebody was faster with another one.
	Winner *approval.Answer `json:"winner,omitempty"`
}

// Refuse writes a problem for a request that is not let in: it is what
// [github.com/holdfast-dev/holdfast/internal/daemon/auth.Options] wants as Refuse.
func Refuse(w http.ResponseWriter, r *http.Request, status int, code, detail, hint string) {
	title := http.StatusText(status)
	if o, ok := outcome.ByCode(code); ok {
		title = o.Meaning
	}
	writeProblem(w, r, &Problem{Title: title, Status: status, Detail: detail, Code: code, Hint: hint})
}

func writeProblem(w http.ResponseWriter, r *http.Request, p *Problem) {
	p.Type = "urn:holdfast:problem:" + p.Code
	p.Instance = r.URL.EscapedPath()
	b, err := marshal(p)
	if err != nil { // a winner's input that is no JSON cannot have been read
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

// refusal is an error that a request is answered with.
type refusal struct {
	out          outcome.Outcome
	detail, hint string
	field        string
	err          error
}

func (e *refusal) Error() string            { return e.detail }
func (e *refusal) Unwrap() error            { return e.err }
func (e *refusal) Outcome() outcome.Outcome { return e.out }
func (e *refusal) Hint() string             { return e.hint }

func refuse(out outcome.Outcome, detail, hint string) error {
	return &refusal{out: out, detail: detail, hint: hint}
}

// problemOf says what an error is for a client.
func problemOf(err error) *Problem {
	out := statusOf(err)
	p := &Problem{Title: out.Meaning, Status: out.Status, Code: out.Code, Detail: err.Error(), Hint: outcome.Hint(err)}
	if e, ok := errors.AsType[*workspace.Error](err); ok {
		p.Field = e.Field
	}
	if e, ok := errors.AsType[*refusal](err); ok {
		p.Hint, p.Field = cmp.Or(e.hint, p.Hint), e.field
	}
	if e, ok := errors.AsType[*approval.AnsweredError](err); ok {
		p.Winner = &e.Winner
	}
	if text, hint, ok := strings.Cut(p.Detail, "; hint: "); ok && p.Hint == "" {
		p.Detail, p.Hint = text, hint
	}
	return p
}

// ofRuns says what the codes of runs are here. What is not in it goes by its cause.
var ofRuns = map[wire.Code]outcome.Outcome{
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

// onFailure says what the codes without a cause of their own are.
var onFailure = map[wire.Code]outcome.Outcome{
	wire.CodePrepareFailed:  outcome.Usage,
	wire.CodeStartFailed:    outcome.Conflict,
	wire.CodeContinueFailed: outcome.Conflict,
}

func statusOf(err error) outcome.Outcome {
	if e, ok := errors.AsType[*refusal](err); ok {
		return e.out
	}
	if away(err) {
		return plain(err)
	}
	if e, ok := errors.AsType[*runs.Error](err); ok {
		if out, ok := ofRuns[e.Code]; ok {
			return out
		}
		if out := plain(e.Err); e.Err != nil && out != outcome.Failed {
			return out
		}
		if out, ok := onFailure[e.Code]; ok {
			return out
		}
	}
	return plain(err)
}

// plain is outcome.Of where a command and a request differ.
func plain(err error) outcome.Outcome {
	switch {
	case errors.Is(err, session.ErrFull):
		return outcome.NoSpace
	case away(err):
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
	return outcome.Of(err)
}

// away reports whether an error says that nothing can be done now, whatever was asked for:
// the store is away, full, or has to be opened anew, or the daemon ends.
func away(err error) bool {
	return retry.Away(err) || errors.Is(err, session.ErrPoisoned) || errors.Is(err, runs.ErrDraining)
}

// marshal writes JSON as it is on record: without the escapes for HTML.
func marshal(v any) ([]byte, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return []byte(strings.TrimSuffix(b.String(), "\n")), nil
}
