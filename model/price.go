package model

import (
	"fmt"

	"github.com/holdfast-dev/holdfast/transcript"
)

// Price is in US dollars per million tokens.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`

	// Long is the price of a whole call whose input, cached or not, is longer than its Above
	// tokens; nil: the length of a prompt does not matter.
	Long     *Price `json:"long,omitempty"`
	LongFrom int64  `json:"above,omitempty"` // of Long
}

// Cost is what one call cost, in US dollars. A nil price costs nothing. Usage
// of several calls may only be summed up before for a price without Long.
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

// Unpriced is the error that a budget in US dollars cannot be kept with the model: nobody
// knows what its calls cost.
func (i Info) Unpriced() error { return &priceError{i.String()} }

type priceError struct{ model string } // PROVIDER/MODEL

func (e *priceError) Error() string {
	return fmt.Sprintf("a budget in US dollars needs the price of %s, which is not known", e.model)
}

// OutcomeCode is the code of the outcome that a program ends with (docs/reference/exit-codes.md).
func (e *priceError) OutcomeCode() string { return "usage" }

// Hint says how to give a price.
func (e *priceError) Hint() string {
	return fmt.Sprintf(`give it one in the settings, in US dollars per million tokens: {"prices": {%q: {"input": 3, "output": 15}}}`, e.model)
}
