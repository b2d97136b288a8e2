// Package known has the prices and context sizes of models that are known without asking their
// providers.
package known

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
	family, found := "", Facts{}
	for prefix, f := range prices()[provider] {
		rest, ok := strings.CutPrefix(name, prefix)
		if ok && len(prefix) > len(family) && isVersion(rest) {
			family, found = prefix, f
		}
	}
	if found.Price != nil {
		p := *found.Price
		if p.Long != nil {
			long := *p.Long
			p.Long = &long
		}
		found.Price = &p
	}
	return found, family != ""
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

// prices unpacks the data when it is first asked for: programs that call no
// model do not pay for it.
var prices = sync.OnceValue(func() map[string]map[string]Facts {
	var doc struct {
		Models map[string]map[string]Facts `json:"models"`
	}
	if err := json.Unmarshal(pricesJSON, &doc); err != nil {
		panic("prices.json: " + err.Error()) // it is compiled in and tested
	}
	return doc.Models
})
