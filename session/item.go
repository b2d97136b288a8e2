package session

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/holdfast-dev/holdfast/transcript"
)

// StoredItem is an item record as read back: indexed, not unpacked.
type StoredItem struct {
	Item   transcript.Encoded
	Queued bool
	Raw    json.RawMessage // the whole payload
}

// itemPrefix is how [ItemDraft] begins a payload.
const itemPrefix = `{"item":`

// ReadItem indexes the payload of an item record without decoding the item.
func ReadItem(payload json.RawMessage) (StoredItem, error) {
	p := transcript.RawPart(payload)
	item := p.Field("item")
	e, err := transcript.ParseTrusted(item)
	if err != nil {
		return StoredItem{}, err
	}
	s := StoredItem{Item: e, Raw: payload}
	if bytes.HasPrefix(payload, []byte(itemPrefix)) { // then the rest is all that is left to look at
		s.Queued = bytes.HasPrefix(payload[len(itemPrefix)+len(item):], []byte(`,"queued":true`))
	} else {
		s.Queued = string(p.Field("queued")) == "true"
	}
	return s, nil
}

// marked reports whether the payload may have a request mark.
func (s StoredItem) marked() bool {
	return !bytes.HasPrefix(s.Raw, []byte(itemPrefix)) || len(s.Raw) > len(itemPrefix)+len(s.Item.JSON)+1
}

// Mark unpacks the request mark of an assistant item, or returns nil.
func (s StoredItem) Mark() *RequestMark {
	if !s.marked() {
		return nil
	}
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

// usageOf reads the usage of an item, most of which come before its parts.
func usageOf(e transcript.Encoded) (u transcript.Usage) {
	raw := transcript.RawPart(transcript.RawPart(e.JSON).Field("usage"))
	if raw == nil {
		return u
	}
	for name, dst := range map[string]*int64{
		"input": &u.Input, "output": &u.Output, "cache_read": &u.CacheRead, "cache_write": &u.CacheWrite, "reasoning": &u.Reasoning,
	} {
		*dst, _ = strconv.ParseInt(string(raw.Field(name)), 10, 64)
	}
	return u
}
