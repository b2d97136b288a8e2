// Package model says what a language model is to this project: something that
// encodes transcript items once and streams an answer to a list of them.
//
//	transcript.Encoded ──Encode──► Wire ─┐
//	transcript.Encoded ──Encode──► Wire ─┼─ Request ──Stream──► TextDelta … Answer
//	system, tools ───────────────────────┘
//
// Encoding is apart from sending so that a long session is encoded once: a
// request is put together from the wire forms that are there already, and a
// resumed session repeats the same bytes. The adapters are in packages below
// this one: anthropic, openai, scripted.
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

	// Encode gives an item's wire form. It is a pure function of the item: the
	// same bytes in, the same bytes out. An item that this provider is never
	// sent has a zero Wire.
	Encode(item transcript.Encoded) (EncodedItem, error)

	// Stream sends a request and yields what comes back as it comes. The last
	// event is an [Answer], or there is an error, which is an [*Error]; when ctx
	// ended it wraps ctx's error. After an error that follows deltas, what
	// arrived is in Error.Partial. It makes one attempt; retrying is the caller's.
	Stream(ctx context.Context, req *Request) iter.Seq2[Event, error]
}

// Info describes a model.
type Info struct {
	Provider  string // "anthropic"
	Model     string // "claude-sonnet-4-6"
	API       string // names the wire form, for Native.API: "anthropic-messages"
	Context   int    // tokens the model can see; 0 when unknown
	MaxOutput int    // tokens it can write; 0 when unknown
	Price     *Price // nil when unknown
	// Reported says that answers tell what they cost ([Answer].Cost).
	Reported bool
}

// Priced reports whether it is known what a call costs: by a price, or as answers tell.
func (i Info) Priced() bool { return i.Price != nil || i.Reported }

// Cost is what a call cost in US dollars: what its provider says goes before the price.
func (i Info) Cost(u transcript.Usage, said *float64) float64 {
	if said != nil {
		return max(*said, 0)
	}
	return i.Price.Cost(u)
}

func (i Info) String() string { return i.Provider + "/" + i.Model }

// EncodedItem is an item as one provider's adapter will send it. Only that adapter
// reads JSON; others may hash it and count its bytes.
type EncodedItem struct {
	Role string
	JSON json.RawMessage
}

// Request is what to answer. The adapter adds cache marks and joins wire forms
// as its provider wants them; it does not change them otherwise.
type Request struct {
	System    string
	Tools     []ToolSpec
	Messages  []EncodedItem
	MaxTokens int    // of the answer; 0 means the adapter's default
	Effort    string // "", "low", "medium", "high": how much to think
}

// ToolSpec offers a tool to the model.
type ToolSpec struct {
	Name        string
	Description string
	Input       json.RawMessage // a JSON Schema object
}

// Event is one thing that arrives while a model answers: [TextDelta],
// [ThinkingDelta], [ToolInputDelta], [Notice], and at the end [Answer].
type Event interface{ event() }

// TextDelta is a piece of an answer's text that is still coming.
type TextDelta struct {
	Text string `json:"text"`
}

// ThinkingDelta is a piece of the model's thinking that is still coming.
type ThinkingDelta struct {
	Text string `json:"text"`
}

// ToolInputDelta is a piece of the input of the tool call Use that is still coming. The
// first piece of a call may have an empty JSON.
type ToolInputDelta struct {
	Use  string `json:"use_id"`
	Tool string `json:"tool"`
	JSON string `json:"json"` // a fragment, not a value
}

// Notice is something that a person may want to know.
type Notice struct {
	Text string `json:"text"`
}

// Answer is the whole answer: an assistant item without id and time, with
// model, usage, finish and native form.
type Answer struct {
	Item transcript.Item
	// More says that the model goes on by itself: that it is to be asked again, although
	// nothing in the transcript asks for an answer. Not with tool uses.
	More bool
	// Cost is what the answer cost in US dollars, as its provider says; nil where that
	// says nothing.
	Cost *float64
}

// Type returns the name of the event in JSON, by which package event knows it.
func (TextDelta) Type() string { return "text_delta" }

// Type is as that of [TextDelta].
func (ThinkingDelta) Type() string { return "thinking_delta" }

// Type is as that of [TextDelta].
func (ToolInputDelta) Type() string { return "tool_input_delta" }

// Type is as that of [TextDelta].
func (Notice) Type() string { return "notice" }

func (TextDelta) event()      {}
func (ThinkingDelta) event()  {}
func (ToolInputDelta) event() {}
func (Notice) event()         {}
func (Answer) event()         {}

// ErrorKind says what went wrong, in terms of what can be done.
type ErrorKind string

// The kinds of errors.
const (
	ErrorAuth       ErrorKind = "auth"             // the key is missing or refused
	ErrorInvalid    ErrorKind = "invalid_request"  // the provider does not accept the request
	ErrorTooLong    ErrorKind = "context_too_long" // the transcript does not fit
	ErrorNotFound   ErrorKind = "not_found"        // no such model or address
	ErrorRateLimit  ErrorKind = "rate_limit"       // retry after a while
	ErrorOverloaded ErrorKind = "overloaded"       // the provider is ill; retry
	ErrorNetwork    ErrorKind = "network"          // no answer, or it broke off; retry
	ErrorMalformed  ErrorKind = "malformed_answer" // the answer is not what the wire promises
	ErrorRefused    ErrorKind = "refused"          // the provider will not answer this
	ErrorCancelled  ErrorKind = "cancelled"        // ctx ended; Err is its error
)

// Error is a failed model call. Messages never contain the key.
type Error struct {
	Kind       ErrorKind
	Provider   string
	Status     int           // HTTP status, or 0
	RetryAfter time.Duration // what the provider asked for, or 0
	Retry      *bool         // whether the provider advises another attempt (its header x-should-retry); nil when it does not say
	Message    string
	Partial    *transcript.Item // text and thinking that arrived before it broke
	// Usage and Cost are what was used all the same, by a model that says so; Cost is as
	// in [Answer].
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

// Retryable reports whether the same request may succeed later: as the provider says, or
// else by the kind.
func (e *Error) Retryable() bool {
	if e.Retry != nil {
		return *e.Retry && e.Kind != ErrorCancelled
	}
	return e.Unavailable()
}

// Unavailable reports whether the error is about the provider's state and not about the
// request, so that another model may answer.
func (e *Error) Unavailable() bool {
	return e.Kind == ErrorRateLimit || e.Kind == ErrorOverloaded || e.Kind == ErrorNetwork || e.Kind == ErrorMalformed
}
