package hostpipe

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
)

// The operations that the process in the container requests from the host:
const (
	opAppend  = "append"
	opRead    = "read"
	opList    = "list"
	opAcquire = "acquire"
	opRenew   = "renew"
	opRelease = "release"
	opHeld    = "held"
	opWatch   = "watch"
	opRecover = "recover"
	opStream  = "stream" // calls a model
	opAsk     = "ask"    // presents an approval request to an approver
	opCancel  = "cancel" // cancels the request with this ID, without a response
	opEvent   = "event"  // without a response
	opFailed  = "failed" // without a response; reports the error that stopped the agent
	opReply   = "reply"  // to a request of the host
)

// The operations that the host requests from the process in the container:
const (
	opInterrupt = "interrupt" // without a response
	opSubmit    = "submit"
)

// request is the head of a frame that contains a request.
type request struct {
	ID      uint64 `json:"id,omitempty"`
	Op      string `json:"op"`
	Session string `json:"session,omitempty"`

	Expect  int64        `json:"expect,omitempty"`
	Epoch   int64        `json:"epoch,omitempty"`
	Records []wireRecord `json:"records,omitempty"`

	Range *wireRange     `json:"range,omitempty"`
	Query *session.Query `json:"query,omitempty"`
	After int64          `json:"after,omitempty"`

	Lease *session.Lease `json:"lease,omitempty"`
	Steal int64          `json:"steal,omitempty"` // the epoch of the lease to take over

	Stream   *wireRequest `json:"stream,omitempty"`
	Question string       `json:"question,omitempty"`

	Event json.RawMessage `json:"event,omitempty"` // the event, encoded by package event
	Error *wireError      `json:"error,omitempty"`

	Parts json.RawMessage `json:"parts,omitempty"`
}

// reply is the head of a frame that contains a response. Each request gets exactly one reply in
// which More is false.
type reply struct {
	ID    uint64     `json:"id"`
	Op    string     `json:"op,omitempty"` // opInterrupt and opSubmit are requests of the host
	More  bool       `json:"more,omitempty"`
	Error *wireError `json:"error,omitempty"`

	Records  []wireRecord      `json:"records,omitempty"`
	Rest     bool              `json:"rest,omitempty"` // there are more records to read
	Page     *session.Page     `json:"page,omitempty"`
	Lease    *session.Lease    `json:"lease,omitempty"`
	Recovery *session.Recovery `json:"recovery,omitempty"`
	Head     int64             `json:"head,omitempty"`
	Model    *wireDelta        `json:"model,omitempty"`

	Parts json.RawMessage `json:"parts,omitempty"` // of opSubmit
}

type wireRange struct {
	After   int64 `json:"after,omitempty"`
	Until   int64 `json:"until,omitempty"`
	Reverse bool  `json:"reverse,omitempty"`
	Limit   int   `json:"limit,omitempty"`
}

// wireRecord is a record or the error of reading it. The payload is in the blob of the frame.
type wireRecord struct {
	Seq    int64          `json:"seq"`
	ID     string         `json:"id,omitempty"`
	Time   int64          `json:"time,omitempty"` // milliseconds since 1970
	Kind   session.Kind   `json:"kind,omitempty"`
	Size   int            `json:"size"` // size of the payload; -1 if the payload is erased
	Prev   session.Digest `json:"prev"`
	Body   session.Digest `json:"body"`
	Digest session.Digest `json:"digest"`
	Masked bool           `json:"masked,omitempty"`
	Error  *wireError     `json:"error,omitempty"`
}

// pack encodes records for a frame.
func pack(recs []session.Record) (heads []wireRecord, blob []byte) {
	size := 0
	for i := range recs {
		size += len(recs[i].Payload)
	}
	heads, blob = make([]wireRecord, len(recs)), make([]byte, 0, size)
	for i := range recs {
		heads[i] = packed(&recs[i])
		blob = append(blob, recs[i].Payload...)
	}
	return heads, blob
}

func packed(r *session.Record) wireRecord {
	w := wireRecord{
		Seq: r.Seq, ID: r.ID, Time: r.Time.UnixMilli(), Kind: r.Kind, Size: len(r.Payload),
		Prev: r.Prev, Body: r.Body, Digest: r.Digest, Masked: r.Masked,
	}
	if r.Payload == nil {
		w.Size = -1
	}
	return w
}

// unpack reverses pack. Payloads share the blob's memory.
func unpack(heads []wireRecord, blob []byte) ([]session.Record, error) {
	recs := make([]session.Record, len(heads))
	for i, w := range heads {
		r, rest, err := w.record(blob)
		if err != nil {
			return nil, err
		}
		recs[i], blob = r, rest
	}
	if len(blob) > 0 {
		return nil, fmt.Errorf("%w: %d bytes of its blob belong to no record", errFrame, len(blob))
	}
	return recs, nil
}

func (w *wireRecord) record(blob []byte) (session.Record, []byte, error) {
	r := session.Record{
		Seq: w.Seq, ID: w.ID, Time: time.UnixMilli(w.Time).UTC(), Kind: w.Kind,
		Prev: w.Prev, Body: w.Body, Digest: w.Digest, Masked: w.Masked,
	}
	if w.Size < -1 || w.Size > len(blob) {
		return r, nil, fmt.Errorf("%w: record %d has %d bytes, but only %d are left", errFrame, w.Seq, w.Size, len(blob))
	}
	if w.Size >= 0 {
		r.Payload, blob = json.RawMessage(blob[:w.Size:w.Size]), blob[w.Size:]
	}
	return r, blob, nil
}

// wireRequest is a model request. The first Keep messages are the same as those of the previous
// request. The other messages are items in the blob. Sizes has the size of each item.
type wireRequest struct {
	Model     int              `json:"model"` // 0 for the primary model, 1 for the fallback
	System    string           `json:"system,omitempty"`
	Tools     []model.ToolSpec `json:"tools,omitempty"`
	Keep      int              `json:"keep,omitempty"`
	Sizes     []int            `json:"sizes,omitempty"`
	MaxTokens int              `json:"max_tokens,omitempty"`
	Effort    string           `json:"effort,omitempty"`
}

// wireDelta is an event of a model. Exactly one field is set; only an answer may also set Continues
// and Cost.
type wireDelta struct {
	Text      string                `json:"text,omitempty"`
	Thinking  string                `json:"thinking,omitempty"`
	Input     *model.ToolInputDelta `json:"input,omitempty"`
	Answer    json.RawMessage       `json:"answer,omitempty"` // an item
	Continues bool                  `json:"goes_on,omitempty"`
	Cost      *float64              `json:"cost,omitempty"`
	Notice    string                `json:"notice,omitempty"`
}
