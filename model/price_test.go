package model_test

import (
	"math"
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestCost(t *testing.T) {
	flat := &model.Price{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}
	tiered := &model.Price{
		Input: 0.1, Output: 0.5, CacheRead: 0.01, CacheWrite: 0.125,
		Long: &model.Price{LongFrom: 100_000, Input: 0.5, Output: 2.5, CacheRead: 0.05, CacheWrite: 0.625},
	}
	for _, tt := range []struct {
		name  string
		price *model.Price
		usage transcript.Usage
		want  float64
	}{
		{"unknown price", nil, transcript.Usage{Input: 1e6}, 0},
		{"nothing", flat, transcript.Usage{}, 0},
		{"each kind", flat, transcript.Usage{Input: 1e6, Output: 1e6, CacheRead: 1e6, CacheWrite: 1e6}, 22.05},
		{"reasoning is in the output", flat, transcript.Usage{Output: 1e6, Reasoning: 1e6}, 15},
		{"at the limit", tiered, transcript.Usage{Input: 50_000, CacheRead: 30_000, CacheWrite: 20_000, Output: 1e6}, 0.005 + 0.0003 + 0.0025 + 0.5},
		{"above the limit", tiered, transcript.Usage{Input: 50_000, CacheRead: 30_001, CacheWrite: 20_000, Output: 1e6}, 0.025 + 0.00150005 + 0.0125 + 2.5},
	} {
		if got := tt.price.Cost(tt.usage); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
