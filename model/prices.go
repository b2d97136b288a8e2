package model

import (
	_ "embed"
	"encoding/json"
	"strings"
	"sync"
)

//go:embed prices.json
var pricesJSON []byte

// Facts are what is known about a model without asking its provider.
type Facts struct {
	Context   int    `json:"context,omitempty"`    // tokens it can see; 0 when unknown
	MaxOutput int    `json:"max_output,omitempty"` // tokens it can write; 0 when unknown
	Price     *Price `json:"price,omitempty"`      // nil when unknown
	Thinking  string `json:"thinking,omitempty"`   // how it is told to think: "budget", "adaptive" or ""
}

// Lookup finds what is known about a provider's model. The entry whose name is
// the longest prefix of name counts, so dated versions find their family:
// "claude-haiku-4-5-20251001" finds "claude-haiku-4-5". A prefix ends where a
// word of the name ends. The data is in prices.json, with its sources and dates.
//
// It is safe for concurrent use. The caller may change what it gets.
func Lookup(provider, name string) (Facts, bool) {
	best, found := "", Facts{}
	for prefix, f := range prices()[provider] {
		rest, ok := strings.CutPrefix(name, prefix)
		if ok && len(prefix) > len(best) && (rest == "" || strings.ContainsAny(rest[:1], "-:@")) {
			best, found = prefix, f
		}
	}
	if found.Price != nil {
		p := *found.Price
		found.Price = &p
	}
	return found, best != ""
}

// prices unpacks the data when it is first asked for: programs that call no
// model do not pay for it.
var prices = sync.OnceValue(func() map[string]map[string]Facts {
	var doc struct {
		Models map[string]map[string]Facts `json:"models"`
	}
	if err := json.Unmarshal(pricesJSON, &doc); err != nil {
		panic("model: prices.json: " + err.Error()) // it is compiled in and tested
	}
	return doc.Models
})
