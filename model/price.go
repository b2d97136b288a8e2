package model

import "github.com/holdfast-dev/holdfast/transcript"

// Price is in US dollars per million tokens.
type Price struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cache_read"`
	CacheWrite float64 `json:"cache_write"`
}

// Cost is what a call cost, in US dollars. A nil price costs nothing.
func (p *Price) Cost(u transcript.Usage) float64 {
	if p == nil {
		return 0
	}
	return (float64(u.Input)*p.Input + float64(u.Output)*p.Output +
		float64(u.CacheRead)*p.CacheRead + float64(u.CacheWrite)*p.CacheWrite) / 1e6
}
