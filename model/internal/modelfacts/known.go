// Package modelfacts has the prices and context sizes of models that are known without asking their
// providers.
package modelfacts

import (
	_ "embed"
	"encoding/json"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/model"
)

//go:embed prices.json
var pricesJSON []byte

// Facts are what is known about a model without asking its provider.
type Facts struct {
	Context   int          `json:"context,omitempty"`    // tokens it can see; 0 when unknown
	MaxOutput int          `json:"max_output,omitempty"` // tokens it can write; 0 when unknown
	Price     *model.Price `json:"price,omitempty"`      // nil when unknown
	Thinking  string       `json:"thinking,omitempty"`   // Budget, Adaptive, Preserved or ""
}

// How a Claude model is told to think.
const (
	Budget    = "budget"    // by a number of tokens
	Adaptive  = "adaptive"  // by effort
	Preserved = "preserved" // by effort; its thinking is bound to what came before it
)

// Lookup finds what is known about a provider's model. A name that ends in a
// version finds its family: "claude-haiku-4-5-20251001" finds
// "claude-haiku-4-5". A name that goes on in any other way is another model,
// with prices of its own. The data is in prices.json, with sources and dates.
//
// It is safe for concurrent use. The caller may change what it gets.
func Lookup(provider, name string) (Facts, bool) {
	var family string
	var about json.RawMessage
	for prefix, raw := range models()[provider] {
		rest, ok := strings.CutPrefix(name, prefix)
		if ok && len(prefix) > len(family) && isVersion(rest) {
			family, about = prefix, raw
		}
	}
	if family == "" {
		return Facts{}, false
	}
	var found Facts
	decode(about, &found)
	return found, true
}

// isVersion reports whether rest is what may follow a family's name: nothing, a
// date, or "latest".
func isVersion(rest string) bool {
	if rest == "" {
		return true
	}
	date := strings.ReplaceAll(rest[1:], "-", "")
	return (rest[0] == '-' || rest[0] == '@') &&
		(date == "latest" || len(date) == 8 && strings.Trim(date, "0123456789") == "")
}

// models are the data by provider and name, when it is first asked for: programs that call no
// model do not pay for it, and others for no more than the one that they ask about.
var models = sync.OnceValue(func() map[string]map[string]json.RawMessage {
	var doc struct {
		Models map[string]map[string]json.RawMessage `json:"models"`
	}
	decode(pricesJSON, &doc)
	return doc.Models
})

// decode reads a part of prices.json, which is compiled in and tested.
func decode(raw []byte, v any) {
	if err := json.Unmarshal(raw, v); err != nil {
		panic("prices.json: " + err.Error())
	}
}
