// Package modelfacts contains prices and context sizes of well-known models, so that they need not
// be requested from providers.
//
//	f, ok := modelfacts.Lookup("anthropic", "claude-haiku-4-5-20251001")
//
// The data is in prices.json, with sources and dates. Prices in the user's settings take precedence over
// it.
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

// Facts describe a model.
type Facts struct {
	Context   int          `json:"context,omitempty"`    // size of the context window in tokens; 0 if unknown
	MaxOutput int          `json:"max_output,omitempty"` // maximum output in tokens; 0 if unknown
	Price     *model.Price `json:"price,omitempty"`      // nil if unknown
	Thinking  string       `json:"thinking,omitempty"`   // Budget, Adaptive, Preserved or ""
}

// How thinking is requested from a Claude model.
const (
	Budget    = "budget"    // by a number of tokens
	Adaptive  = "adaptive"  // by effort
	Preserved = "preserved" // by effort; thinking is valid only if the items before it are unchanged
)

// Lookup returns the known facts about a model of a provider. A name that ends in a version matches
// its family: "claude-haiku-4-5-20251001" matches "claude-haiku-4-5". A name with any other suffix
// is a different model with different prices. The data is in prices.json, with sources and dates.
//
// It is safe for concurrent use. The caller may change the result.
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

// isVersion reports whether rest is a valid suffix of a family's name: nothing, a date, or "latest".
func isVersion(rest string) bool {
	if rest == "" {
		return true
	}
	date := strings.ReplaceAll(rest[1:], "-", "")
	return (rest[0] == '-' || rest[0] == '@') &&
		(date == "latest" || len(date) == 8 && strings.Trim(date, "0123456789") == "")
}

// models contains the data by provider and name; it is loaded on first use. The data of a model is
// decoded only when the model is looked up.
var models = sync.OnceValue(func() map[string]map[string]json.RawMessage {
	var doc struct {
		Models map[string]map[string]json.RawMessage `json:"models"`
	}
	decode(pricesJSON, &doc)
	return doc.Models
})

// decode reads a part of prices.json, which is embedded in the program and tested.
func decode(raw []byte, v any) {
	if err := json.Unmarshal(raw, v); err != nil {
		panic("prices.json: " + err.Error())
	}
}
