package session

import (
	"encoding/json"

	"github.com/holdfast-dev/holdfast/transcript"
)

// StoredItem is an item record as read back: indexed, not unpacked.
type StoredItem struct {
	Item   transcript.Encoded
	Queued bool
	Raw    json.RawMessage // the whole payload
}

// ReadItem indexes the payload of an item record without decoding the item.
func ReadItem(payload json.RawMessage) (StoredItem, error) {
	p := transcript.RawPart(payload)
	e, err := transcript.ParseTrusted(p.Field("item"))
	if err != nil {
		return StoredItem{}, err
	}
	return StoredItem{Item: e, Queued: string(p.Field("queued")) == "true", Raw: payload}, nil
}

// Mark unpacks the request mark of an assistant item, or returns nil.
func (s StoredItem) Mark() *RequestMark {
	raw := transcript.RawPart(s.Raw).Field("request")
	if raw == nil {
		return nil
	}
	var m RequestMark
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return &m
}
