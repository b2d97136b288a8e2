// Package model defines the interface to language models. An adapter encodes each transcript item once
// and streams the answer to a request.
//
//	transcript.Encoded ──Encode──► EncodedItem ─┐
//	transcript.Encoded ──Encode──► EncodedItem ─┼─ Request ──Stream──► TextDelta … Answer
//	system, tools ──────────────────────────────┘
//
//	for e, err := range m.Stream(ctx, &model.Request{Items: items}) { … }
//
// Encoding is separate from sending, so that a long session is encoded only once. A request reuses
// the items that are already encoded, and a resumed session sends the same bytes. The package has
// no adapters; they are in the packages anthropic, openai and scripted. It does not retry calls;
// that is done by the caller.
package model

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/holdfast-dev/holdfast/transcript"
)

// Model is one model of one provider. It is safe for concurrent use.
type Model interface {
	// Info describes the model. It does no I/O.
	Info() Info

	// Encode returns an item in the provider's JSON. It is a pure function: the same item gives the same
	// bytes. An item that is not sent to this provider has a zero EncodedItem.
	Encode(item transcript.Encoded) (EncodedItem, error)

	// Stream sends a request and yields the events of the answer as they arrive. The last event is
	// an [Answer], or the iteration ends with an [*Error]. If ctx ended, the error wraps the error
	// of ctx. If deltas came before the error, Error.Partial has what arrived. Stream makes one
	// attempt; the caller retries.
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// Info describes a model.
type Info struct {
	Provider  string // such as "anthropic"
	Model     string // such as "claude-sonnet-4-6"
	API       string // name of the JSON form, for Native.API, such as "anthropic-messages"
	Context   int    // size of the context window in tokens; 0 if unknown
	MaxOutput int    // maximum output in tokens; 0 if unknown
	Price     *Price // nil if unknown
	// Reported means that answers have their cost ([Answer].Cost).
	Reported bool
}

// Priced reports whether the cost of a call is known, from a price or because answers contain it.
func (i Info) Priced() bool { return i.Price != nil || i.Reported }

// Cost returns the cost of a call in US dollars. A cost that the provider reports takes precedence
// over the price.
func (i Info) Cost(u transcript.Usage, reported *float64) float64 {
	if reported != nil {
		return max(*reported, 0)
	}
	return i.Price.Cost(u)
}

func (i Info) String() string { return i.Provider + "/" + i.Model }

// EncodedItem is an item in the form that one provider's adapter sends. Only that adapter
// interprets the field JSON; other code may hash it and count its bytes.
type EncodedItem struct {
	Role string
	JSON json.RawMessage
}

// Request is a request for an answer. The adapter adds cache marks and joins the encoded items as its
// provider requires, but does not change them otherwise.
type Request struct {
	System    string
	Tools     []ToolSpec
	Messages  []EncodedItem
	MaxTokens int    // maximum length of the answer; 0 is the adapter's default
	Effort    string // "", "low", "medium", "high": how much the model thinks
}

// ToolSpec describes a tool to the model.
type ToolSpec struct {
	Name        string
	Description string
	Input       json.RawMessage // a JSON Schema object
}

// Event is one event of an answer: [TextDelta], [ThinkingDelta], [ToolInputDelta] or [Notice], and at the
// end [Answer].
type Event interface{ event() }

// TextDelta is a piece of the text of an unfinished answer.
type TextDelta struct {
	Text string `json:"text"`
}

// ThinkingDelta is a piece of the model's unfinished thinking.
type ThinkingDelta struct {
	Text string `json:"text"`
}

// ToolInputDelta is a piece of the unfinished input of the tool use Use. The JSON of the first
// piece may be empty.
type ToolInputDelta struct {
	Use  string `json:"use_id"`
	Tool string `json:"tool"`
	JSON string `json:"json"` // a fragment, not a value
}

// Notice is a message for the user.
type Notice struct {
	Text string `json:"text"`
}

// Answer is the complete answer: an assistant item without id and time, but with model, usage, finish and
// native form.
type Answer struct {
	Item transcript.Item
	// More means that the model wants to continue its answer: the caller sends another request,
	// although the transcript would not require an answer. More is never set together with tool
	// uses.
	More bool
	// Cost is the cost of the answer in US dollars, as the provider reports it; nil if the provider
	// reports no cost.
	Cost *float64
}

// Type returns the name of the event in JSON, which package event uses.
func (TextDelta) Type() string { return "text_delta" }

// Type is like that of [TextDelta].
func (ThinkingDelta) Type() string { return "thinking_delta" }

// Type is like that of [TextDelta].
func (ToolInputDelta) Type() string { return "tool_input_delta" }

// Type is like that of [TextDelta].
func (Notice) Type() string { return "notice" }

func (TextDelta) event()      {}
func (ThinkingDelta) event()  {}
func (ToolInputDelta) event() {}
func (Notice) event()         {}
func (Answer) event()         {}

// ErrorKind classifies an error by what the caller can do about it.
type ErrorKind string

// The kinds of errors.
const (
	ErrorAuth       ErrorKind = "auth"             // the key is missing or rejected
	ErrorInvalid    ErrorKind = "invalid_request"  // the provider does not accept the request
	ErrorTooLong    ErrorKind = "context_too_long" // the transcript does not fit into the context window
	ErrorNotFound   ErrorKind = "not_found"        // no such model or address
	ErrorRateLimit  ErrorKind = "rate_limit"       // retry after a while
	ErrorOverloaded ErrorKind = "overloaded"       // the provider is overloaded; retry
	ErrorNetwork    ErrorKind = "network"          // no answer, or the answer was interrupted; retry
	ErrorMalformed  ErrorKind = "malformed_answer" // the answer is not valid
	ErrorRefused    ErrorKind = "refused"          // the provider refuses to answer this request
	ErrorCancelled  ErrorKind = "cancelled"        // ctx ended; Err is its error
)

// Error is a failed model call. Messages never contain the key.
type Error struct {
	Kind       ErrorKind
	Provider   string
	Status     int           // HTTP status, or 0
	RetryAfter time.Duration // delay that the provider asked for, or 0
	Retry      *bool         // the provider's advice (its header x-should-retry); nil if there is none
	Message    string
	Partial    *transcript.Item // text and thinking that arrived before the error
	// Usage and Cost are what the failed call used, if the provider reports it; Cost is as in [Answer].
	Usage *transcript.Usage
	Cost  *float64
	Err   error
}

func (e *Error) Error() string {
	s := fmt.Sprintf("%s: %s", e.Provider, e.Kind)
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	return s
}

func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later. Retry decides if it is set,
// otherwise the kind.
func (e *Error) Retryable() bool {
	if e.Retry != nil {
		return *e.Retry && e.Kind != ErrorCancelled
	}
	return e.Unavailable()
}

// Unavailable reports whether the state of the provider, and not the request, caused the error. In
// that case, another model may answer.
func (e *Error) Unavailable() bool {
	return e.Kind == ErrorRateLimit || e.Kind == ErrorOverloaded || e.Kind == ErrorNetwork || e.Kind == ErrorMalformed
}
