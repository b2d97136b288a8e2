package session

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Draft is a record before it is appended: [Log.Append] sets its seq, time and digests.
type Draft struct {
	Kind    Kind
	Payload json.RawMessage // one JSON object
	ID      string          // optional; a draft with an ID can be recognized in a retry
}

// NewDraft returns a draft whose payload is v, a payload type of this package, in JSON. Raw JSON in
// it keeps its bytes, except white space between tokens.
func NewDraft(k Kind, payload any) (Draft, error) {
	b, err := jsonscan.Marshal(payload) // escapes would change the bytes of items
	if err != nil {
		return Draft{}, &Error{Op: "write " + string(k), Err: ErrInvalid, Detail: err.Error()}
	}
	return Draft{Kind: k, Payload: b}, nil
}

// ItemDraft makes an item record without decoding the item.
func ItemDraft(e transcript.Encoded, queued bool, mark *record.RequestMark) Draft {
	b := make([]byte, 0, len(e.JSON)+160)
	b = append(b, `{"item":`...)
	b = append(b, e.JSON...)
	if queued {
		b = append(b, `,"queued":true`...)
	}
	if mark != nil {
		m, _ := json.Marshal(mark) // marshaling three plain fields cannot fail
		b = append(b, `,"request":`...)
		b = append(b, m...)
	}
	b = append(b, '}')
	return Draft{Kind: KindItem, Payload: b}
}

// Costing returns the draft of an item with the cost of its model call in US dollars.
func (d Draft) Costing(usd float64) Draft {
	if usd <= 0 || d.Kind != KindItem {
		return d
	}
	p := append(d.Payload[:len(d.Payload)-1:len(d.Payload)-1], record.CostField...)
	d.Payload = append(strconv.AppendFloat(p, usd, 'g', -1, 64), '}')
	return d
}

// check rejects payloads that must not be in a log. It looks only at the first and last bytes and
// for line breaks.
func (d *Draft) check() error {
	bad := func(detail string) error {
		return &Error{Op: "append " + string(d.Kind), Err: ErrInvalid, Detail: detail}
	}
	if !d.Kind.known() {
		return bad("unknown kind of record")
	}
	p := bytes.TrimSpace(d.Payload)
	if len(p) < 2 || p[0] != '{' || p[len(p)-1] != '}' {
		return bad("the payload is not a JSON object")
	}
	if record.IsSealed(p) {
		return bad("the payload has a prefix that is reserved for encrypted and masked records")
	}
	if len(p) != len(d.Payload) || bytes.IndexByte(p, '\n') >= 0 {
		var b bytes.Buffer
		if err := json.Compact(&b, p); err != nil {
			return bad(err.Error())
		}
		p = b.Bytes()
	}
	d.Payload = p
	return nil
}
