package model

import "github.com/holdfast-dev/holdfast/transcript"

// Price is in US dollars per million tokens.
type Price struct {
	Input      float64    `json:"input"`
	Output     float64    `json:"output"`
	CacheRead  float64    `json:"cache_read"`
	CacheWrite float64    `json:"cache_write"`
	Long       *LongPrice `json:"long,omitempty"` // nil: the length of a prompt does not matter
}

// LongPrice is what a whole call costs whose input, cached or not, is longer
// than Above tokens.
type LongPrice struct {
	Above      int64   `json:"above"`
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
}

// Cost is what one call cost, in US dollars. A nil price costs nothing. Usage
// of several calls may only be summed up before for a price without Long.
func (p *Price) Cost(u transcript.Usage) float64 {
	if p == nil {
		return 0
	}
	input, output, read, write := p.Input, p.Output, p.CacheRead, p.CacheWrite
	if l := p.Long; l != nil && u.Input+u.CacheRead+u.CacheWrite > l.Above {
		input, output, read, write = l.Input, l.Output, l.CacheRead, l.CacheWrite
	}
	return (float64(u.Input)*input + float64(u.Output)*output +
		float64(u.CacheRead)*read + float64(u.CacheWrite)*write) / 1e6
}
