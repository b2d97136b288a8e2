package record

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Item is the payload of an item record, as [ReadItem] returns it. It is indexed but not decoded.
type Item struct {
	Item   transcript.Encoded
	Queued bool
	Raw    json.RawMessage // the whole payload
}

// CostField is the beginning of the last member of an item record that has a cost.
const CostField = `,"cost_usd":`

// itemPrefix is the beginning of payloads that session.ItemDraft writes.
const itemPrefix = `{"item":`

// ReadItem indexes the payload of an item record without decoding the item.
func ReadItem(payload json.RawMessage) (Item, error) {
	s := Item{Raw: payload}
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

// UsageOf returns the usage of an item. In its JSON the usage comes before its parts.
func UsageOf(e transcript.Encoded) (u transcript.Usage) {
	raw := jsonscan.Object(e.JSON).Field("usage")
	if raw == nil {
		return u
	}
	_ = jsonscan.Fields(raw, func(key, value []byte) error { // other values have no fields
		n, _ := strconv.ParseInt(string(value), 10, 64)
		switch string(key) {
		case "input":
			u.Input = n
		case "output":
			u.Output = n
		case "cache_read":
			u.CacheRead = n
		case "cache_write":
			u.CacheWrite = n
		case "reasoning":
			u.Reasoning = n
		}
		return nil
	})
	return u
}

// Cost returns the cost of the item's model call in US dollars, or 0. It is the record's last
// member, so it can be read without parsing the record.
func (s Item) Cost() float64 {
	at := bytes.LastIndex(s.Raw[max(0, len(s.Raw)-48):], []byte(CostField))
	if at < 0 {
		return 0
	}
	number := bytes.TrimSuffix(s.Raw[max(0, len(s.Raw)-48)+at+len(CostField):], []byte("}"))
	usd, err := strconv.ParseFloat(string(number), 64)
	if err != nil || !(usd > 0) || math.IsInf(usd, 0) {
		return 0
	}
	return usd
}

// Marked reports whether the payload may have a request mark.
func (s Item) Marked() bool {
	return !bytes.HasPrefix(s.Raw, []byte(itemPrefix)) || len(s.Raw) > len(itemPrefix)+len(s.Item.JSON)+1
}

// Mark returns the [RequestMark] of an assistant item, or nil.
func (s Item) Mark() *RequestMark {
	if !s.Marked() {
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

// RequestMark identifies the messages that a request sent to a model, so that a resumed session can
// check that it repeats them byte for byte.
type RequestMark struct {
	API      string `json:"api"`
	Messages int    `json:"messages"` // number of transcript items in the request
	Prefix   string `json:"prefix"`   // digest of the system prompt, the tools, and the role, length and CRC-32C of those messages
}
