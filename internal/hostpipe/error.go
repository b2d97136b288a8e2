package hostpipe

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/hook"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// ErrLost means that the connection to the other side has ended. It is unknown whether a running
// append took effect.
var ErrLost = errors.New("the connection to the host is lost")

// errorCodes has the sentinel errors that errors.Is still finds in an error after it was sent to
// the other side, by their codes.
var errorCodes = map[string]error{
	"not_found":   session.ErrNotFound,
	"exists":      session.ErrExists,
	"conflict":    session.ErrConflict,
	"fenced":      session.ErrFenced,
	"busy":        session.ErrBusy,
	"corrupt":     session.ErrCorrupt,
	"newer":       session.ErrNewer,
	"sealed":      session.ErrSealed,
	"trashed":     session.ErrTrashed,
	"invalid_id":  session.ErrInvalidID,
	"invalid":     session.ErrInvalid,
	"full":        session.ErrFull,
	"read_only":   session.ErrReadOnly,
	"poisoned":    session.ErrPoisoned,
	"closed":      session.ErrClosed,
	"unsupported": session.ErrUnsupported,

	"cancelled": context.Canceled,
	"deadline":  context.DeadlineExceeded,

	"leave":         approval.ErrSuspend,
	"no_question":   approval.ErrNoRequest,
	"expired":       approval.ErrExpired,
	"bad_answer":    approval.ErrInvalid,
	"agent_closed":  agent.ErrClosed,
	"running":       agent.ErrRunning,
	"pending":       agent.ErrApprovalPending,
	"nothing_to_do": agent.ErrNoInput,
	"policy":        policy.ErrInvalid,
	"stale":         policy.ErrStale,
	"settings":      settings.ErrInvalid,
	"hook":          &hook.Error{},
	"refused":       ErrRefused,
}

// wireError is an error in JSON. Code is a key of errorCodes.
type wireError struct {
	Text string `json:"text"`
	Hint string `json:"hint,omitempty"`
	Code string `json:"code,omitempty"`

	Store *storeError `json:"store,omitempty"` // of a *session.Error
	Lease *leaseError `json:"lease,omitempty"` // of a *session.BusyError
	Model *modelError `json:"model,omitempty"` // of a *model.Error
	Hook  *hookError  `json:"hook,omitempty"`  // of an *event.Error that a hook caused
}

type storeError struct {
	Op      string `json:"op,omitempty"`
	Session string `json:"session,omitempty"`
	Seq     int64  `json:"seq,omitempty"`
	Detail  string `json:"detail,omitempty"`
	Cause   string `json:"cause,omitempty"` // text of the wrapped error
}

type leaseError struct {
	Session string        `json:"session"`
	Lease   session.Lease `json:"lease"`
}

type modelError struct {
	Kind       model.ErrorKind   `json:"kind"`
	Provider   string            `json:"provider,omitempty"`
	Status     int               `json:"status,omitempty"`
	RetryAfter int64             `json:"retry_after_ms,omitempty"`
	Retry      string            `json:"retry,omitempty"`
	Message    string            `json:"message,omitempty"`
	Partial    json.RawMessage   `json:"partial,omitempty"`
	Usage      *transcript.Usage `json:"usage,omitempty"`
	Cost       *float64          `json:"cost_usd,omitempty"`
	Cause      string            `json:"cause,omitempty"`
}

type hookError struct {
	Event  hook.Event `json:"event"`
	By     string     `json:"by,omitempty"`
	Reason string     `json:"reason,omitempty"`
}

// toWire encodes an error. For nil it returns nil.
func toWire(err error) *wireError {
	if err == nil {
		return nil
	}
	w := &wireError{Text: err.Error(), Hint: hintOf(err)}
	for code, is := range errorCodes {
		if errors.Is(err, is) && (w.Code == "" || code < w.Code) {
			w.Code = code
		}
	}
	if e, ok := errors.AsType[*session.Error](err); ok {
		w.Store = &storeError{Op: e.Op, Session: e.Session, Seq: e.Seq, Detail: e.Detail}
		if e.Err != nil {
			w.Store.Cause = e.Err.Error()
		}
	}
	if e, ok := errors.AsType[*session.BusyError](err); ok {
		w.Lease = &leaseError{e.Session, e.Lease}
	}
	if e, ok := errors.AsType[*model.Error](err); ok {
		w.Model = packModelError(e)
	}
	if e, ok := errors.AsType[*event.Error](err); ok && e.HookEvent != "" {
		w.Hook = &hookError{hook.Event(e.HookEvent), e.Hook, e.HookReason}
	}
	return w
}

func packModelError(e *model.Error) *modelError {
	m := &modelError{Kind: e.Kind, Provider: e.Provider, Status: e.Status, RetryAfter: e.RetryAfter.Milliseconds(), Retry: packAdvice(e.Retry), Message: e.Message, Usage: e.Usage, Cost: e.Cost}
	if e.Partial != nil {
		m.Partial, _ = e.Partial.MarshalJSON() // the field is omitted if it cannot be encoded
	}
	if e.Err != nil {
		m.Cause = e.Err.Error()
	}
	return m
}

// packAdvice encodes [model.Error].Retry.
func packAdvice(retry *bool) string {
	switch {
	case retry == nil:
		return ""
	case *retry:
		return "yes"
	}
	return "no"
}

func readAdvice(word string) *bool {
	switch word {
	case "yes":
		return new(true)
	case "no":
		return new(false)
	}
	return nil
}

func hintOf(err error) string {
	if h := session.Hint(err); h != "" {
		return h
	}
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return h.Hint()
	}
	return ""
}

// err returns an error equivalent to the one that was encoded.
func (w *wireError) err() error {
	if w == nil {
		return nil
	}
	switch {
	case w.Hook != nil:
		return &event.Error{HookEvent: string(w.Hook.Event), Hook: w.Hook.By, HookReason: w.Hook.Reason}
	case w.Lease != nil:
		return &session.BusyError{Session: w.Lease.Session, Lease: w.Lease.Lease}
	case w.Store != nil:
		e := &session.Error{Op: w.Store.Op, Session: w.Store.Session, Seq: w.Store.Seq, Detail: w.Store.Detail, Hint: w.Hint}
		e.Err = errorText(w.Store.Cause, errorCodes[w.Code])
		return e
	case w.Model != nil:
		return w.Model.err(errorCodes[w.Code])
	}
	return &remoteError{text: w.Text, hint: w.Hint, is: errorCodes[w.Code]}
}

func (m *modelError) err(is error) error {
	e := &model.Error{
		Kind: m.Kind, Provider: m.Provider, Status: m.Status, Message: m.Message,
		RetryAfter: time.Duration(m.RetryAfter) * time.Millisecond, Retry: readAdvice(m.Retry), Usage: m.Usage, Cost: m.Cost, Err: errorText(m.Cause, is),
	}
	if m.Partial != nil {
		var it transcript.Item
		if it.UnmarshalJSON(m.Partial) == nil {
			e.Partial = &it
		}
	}
	return e
}

// errorText returns an error with a text that wraps a sentinel error. If the text is empty or that
// of the sentinel error, it returns the sentinel error itself.
func errorText(text string, is error) error {
	switch {
	case is != nil && (text == "" || text == is.Error()):
		return is
	case text == "":
		return nil
	}
	return &remoteError{text: text, is: is}
}

// remoteError is an error that the other side has sent.
type remoteError struct {
	text, hint string
	is         error
}

func (e *remoteError) Error() string { return e.text }
func (e *remoteError) Unwrap() error { return e.is }
func (e *remoteError) Hint() string  { return e.hint }
