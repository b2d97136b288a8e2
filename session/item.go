package session

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
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
	s := StoredItem{Raw: payload}
	var err error
	if rest, ok := bytes.CutPrefix(payload, []byte(itemPrefix)); ok {
		var n int
		if n, err = s.Item.IndexPrefix(rest); err == nil {
			s.Queued = bytes.HasPrefix(rest[n:], []byte(`,"queued":true`))
		}
		return s, err
	}
	p := jsonscan.Object(payload)
	err = s.Item.IndexTrusted(p.Field("item"))
	s.Queued = string(p.Field("queued")) == "true"
	return s, err
}

// Cost is what the item's model call cost, in US dollars, or 0. It is the record's last
// member, so that nothing needs to be read for it.
func (s StoredItem) Cost() float64 {
	at := bytes.LastIndex(s.Raw[max(0, len(s.Raw)-48):], []byte(costField))
	if at < 0 {
		return 0
	}
	number := bytes.TrimSuffix(s.Raw[max(0, len(s.Raw)-48)+at+len(costField):], []byte("}"))
	usd, err := strconv.ParseFloat(string(number), 64)
	if err != nil || !(usd > 0) || math.IsInf(usd, 0) {
		return 0
	}
	return usd
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
	raw := jsonscan.Object(s.Raw).Field("request")
	if raw == nil {
		return nil
	}
	var m RequestMark
	if json.Unmarshal(raw, &m) != nil {
		return nil
	}
	return &m
}

// usageOf reads the usage of an item, which stands before its parts.
func usageOf(e transcript.Encoded) (u transcript.Usage) {
	raw := jsonscan.Object(jsonscan.Object(e.JSON).Field("usage"))
	if raw == nil {
		return u
	}
	number := func(name string) int64 {
		n, _ := strconv.ParseInt(string(raw.Field(name)), 10, 64)
		return n
	}
	return transcript.Usage{
		Input: number("input"), Output: number("output"), CacheRead: number("cache_read"),
		CacheWrite: number("cache_write"), Reasoning: number("reasoning"),
	}
}
