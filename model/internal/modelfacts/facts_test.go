package modelfacts_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/model/internal/modelfacts"
	"github.com/holdfast-dev/holdfast/transcript"
)

// agent_loop-018: cached tokens count toward cost, for every model we know a
// price of.
func TestCachedTokensArePriced(t *testing.T) {
	for _, c := range corpus.Load(t, "open-agent-sdk.json") {
		if c.ID != "agent_loop-018" {
			continue
		}
		var in struct {
			CacheRead int64 `json:"cache_read"`
		}
		c.Decode(t, c.Input(), &in)
		eachModel(t, func(provider, name string) {
			f, ok := modelfacts.Lookup(provider, name)
			if !ok {
				t.Errorf("%s/%s does not find itself", provider, name)
			}
			if f.Price == nil {
				return
			}
			if f.Price.Cost(transcript.Usage{CacheRead: in.CacheRead}) <= 0 || f.Price.Cost(transcript.Usage{CacheWrite: in.CacheRead}) <= 0 {
				t.Errorf("%s: cached tokens of %s/%s cost nothing", c.ID, provider, name)
			}
		})
		return
	}
	t.Error("the corpus has no agent_loop-018")
}

func TestPrices(t *testing.T) {
	eachModel(t, func(provider, name string) {
		f, _ := modelfacts.Lookup(provider, name)
		switch f.Thinking {
		case "", modelfacts.Budget, modelfacts.Adaptive, modelfacts.Preserved:
		default:
			t.Errorf("%s: thinking %q", name, f.Thinking)
		}
		if f.Context < 0 || f.MaxOutput < 0 || f.MaxOutput > f.Context {
			t.Errorf("%s: context %d, output %d", name, f.Context, f.MaxOutput)
		}
		p := f.Price
		if p == nil {
			return
		}
		if !(0 < p.CacheRead && p.CacheRead < p.Input && p.Input <= p.CacheWrite && p.CacheWrite < p.Output) {
			t.Errorf("%s: an odd price %+v", name, *p)
		}
		if l := p.Long; l != nil && (l.LongFrom <= 0 || l.Input <= p.Input || l.Output <= p.Output || l.CacheRead <= p.CacheRead || l.CacheWrite <= p.CacheWrite) {
			t.Errorf("%s: an odd long price %+v", name, *l)
		}
	})
}

func TestLookup(t *testing.T) {
	for _, tt := range []struct {
		provider, name string
		input          float64 // 0: unknown
	}{
		{"anthropic", "claude-haiku-4-5", 1},
		{"anthropic", "claude-haiku-4-5-20251001", 1},
		{"anthropic", "claude-haiku-4-5@20251001", 1},
		{"anthropic", "claude-haiku-4-5-latest", 1},
		{"anthropic", "claude-opus-5", 5},
		{"anthropic", "claude-opus-5-5", 4},      // not claude-opus-5
		{"anthropic", "claude-opus-5-9", 0},      // not claude-opus-5 either
		{"anthropic", "claude-opus-4-7-fast", 0}, // has prices of its own
		{"openai", "gpt-5.1-2025-11-13", 1.25},
		{"openai", "gpt-5-mini", 0.25},
		{"openai", "gpt-5.2-pro", 0},
		{"openai", "gpt-4o-mini-2024-07-18", 0.15},
		{"openai", "claude-opus-5", 0},
		{"nobody", "gpt-5", 0},
		{"", "", 0},
	} {
		f, ok := modelfacts.Lookup(tt.provider, tt.name)
		got := 0.0
		if f.Price != nil {
			got = f.Price.Input
		}
		if got != tt.input || ok != (tt.input != 0) {
			t.Errorf("%s/%s: %v, %v", tt.provider, tt.name, got, ok)
		}
	}
	f, _ := modelfacts.Lookup("anthropic", "claude-haiku-5-5")
	f.Price.Input, f.Price.Long.Input = 99, 99
	if again, _ := modelfacts.Lookup("anthropic", "claude-haiku-5-5"); again.Price.Input == 99 || again.Price.Long.Input == 99 {
		t.Error("what a caller changes is changed for others")
	}
}

func ExampleLookup() {
	facts, ok := modelfacts.Lookup("anthropic", "claude-haiku-4-5-20251001")
	cost := facts.Price.Cost(transcript.Usage{Input: 2000, CacheRead: 50_000, Output: 800})
	fmt.Printf("known: %v, $%.4f\n", ok, cost)
	// Output: known: true, $0.0110
}

// eachModel calls fn for every model of prices.json, and keeps its form.
func eachModel(t *testing.T, fn func(provider, name string)) {
	t.Helper()
	b, err := os.ReadFile("prices.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		About   string                                `json:"about"`
		Sources []map[string]string                   `json:"sources"`
		Models  map[string]map[string]json.RawMessage `json:"models"`
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	sources := map[string]bool{}
	for _, s := range doc.Sources {
		sources[s["provider"]] = s["checked"] != "" && s["prices"] != ""
	}
	for provider, models := range doc.Models {
		if !sources[provider] {
			t.Errorf("%s: no dated source", provider)
		}
		for name, raw := range models {
			d := json.NewDecoder(bytes.NewReader(raw))
			d.DisallowUnknownFields()
			if err := d.Decode(&modelfacts.Facts{}); err != nil {
				t.Errorf("%s/%s: %v", provider, name, err)
			}
			fn(provider, name)
		}
	}
}
