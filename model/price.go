package model

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/transcript"
)

// Price is a price in US dollars per million tokens.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`

	// Long is the price of a complete call whose input, including cached tokens, is longer than
	// LongFrom tokens. If it is nil, the price does not depend on the length.
	Long     *Price `json:"long,omitempty"`
	LongFrom int64  `json:"above,omitempty"` // number of tokens above which the price Long applies
}

// Cost returns the cost of one call in US dollars. A nil price is free. The usage of several calls
// may be added up before this call only if the price has no Long.
func (p *Price) Cost(u transcript.Usage) float64 {
	if p == nil {
		return 0
	}
	input, output, read, write := p.Input, p.Output, p.CacheRead, p.CacheWrite
	if l := p.Long; l != nil && u.Input+u.CacheRead+u.CacheWrite > l.LongFrom {
		input, output, read, write = l.Input, l.Output, l.CacheRead, l.CacheWrite
	}
	return (float64(u.Input)*input + float64(u.Output)*output +
		float64(u.CacheRead)*read + float64(u.CacheWrite)*write) / 1e6
}

// Unpriced returns the error for a budget in US dollars that is used with a model whose price is
// unknown.
func (i Info) Unpriced() error { return &priceError{i.String()} }

type priceError struct{ model string } // PROVIDER/MODEL

func (e *priceError) Error() string {
	return fmt.Sprintf("a budget in US dollars needs the price of %s, which is not known", e.model)
}

// OutcomeCode returns the code of the outcome (docs/reference/exit-codes.md).
func (e *priceError) OutcomeCode() string { return "usage" }

// Hint returns how to set a price.
func (e *priceError) Hint() string {
	return fmt.Sprintf(`set a price in the settings, in US dollars per million tokens: {"prices": {%q: {"input": 3, "output": 15}}}`, e.model)
}
