package settings_test

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/model"
)

func TestModels(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{
		"retry": {"max": 0, "maxRetryAfter": "5m"},
		"providers": {"ollama": {"firstByteTimeout": "10m"}, "*": {"connectTimeout": "5s", "firstByteTimeout": "1m"}},
		"prices": {"openai/ours": {"input": 1, "output": 2, "cacheRead": 0.5}, "ollama/*": {"input": 0, "output": 0}, "openai/told": "reported"}
	}`)
	m := p.load().Models
	if m.Retries.Value == nil || *m.Retries.Value != 0 || m.MaxRetryAfter.Value != 5*time.Minute || m.MaxRetryAfter.Origin.Line != 2 {
		t.Errorf("%+v", m)
	}
	if got, want := m.Timeouts("ollama"), (model.Timeouts{Connect: 5 * time.Second, FirstByte: 10 * time.Minute}); got != want {
		t.Errorf("ollama: %+v", got)
	}
	if got, want := m.Timeouts("openai"), (model.Timeouts{Connect: 5 * time.Second, FirstByte: time.Minute}); got != want {
		t.Errorf("openai: %+v", got)
	}
	for _, tt := range []struct {
		provider, name string
		want           model.Price
		reported, none bool
	}{
		{"openai", "ours", model.Price{Input: 1, Output: 2, CacheRead: 0.5, CacheWrite: 1}, false, false},
		{"ollama", "any", model.Price{}, false, false},
		{"openai", "told", model.Price{}, true, false},
		{"openai", "other", model.Price{}, false, true},
	} {
		got, ok := m.PriceOf(tt.provider, tt.name)
		if ok == tt.none || got.Reported != tt.reported || ok && !tt.reported && *got.Price != tt.want {
			t.Errorf("%s/%s: %+v, %v", tt.provider, tt.name, got, ok)
		}
	}
}

func TestModelsFaults(t *testing.T) {
	p := newTestHome(t)
	for text, want := range map[string]string{
		`{"retry": {"max": -1}}`:                                        "want a number of at least 0",
		`{"retry": {"maxRetryAfter": 60}}`:                              "want a text",
		`{"retry": {"maxRetryAfter": "0s"}}`:                            `"0s" is not a time to wait`,
		`{"providers": {"openai": {"idle": "1s"}}}`:                     `unknown key "providers.openai.idle"`,
		`{"providers": {"openai": {"idleTimeout": "soon"}}}`:            `"soon" is not a time to wait`,
		`{"providers": ["openai"]}`:                                     "providers is a list, want an object",
		`{"prices": {"gpt": {"input": 1, "output": 1}}}`:                `prices["gpt"]: invalid model name`,
		`{"prices": {"openai/gpt": {"input": 1}}}`:                      "needs input and output",
		`{"prices": {"openai/gpt": {"input": -1, "output": 1}}}`:        "invalid price",
		`{"prices": {"openai/gpt": {"input": "1", "output": 1}}}`:       "invalid price",
		`{"prices": {"openai/gpt": "free"}}`:                            "invalid price",
		`{"prices": {"openai/gpt": {"input": 1, "output": 1, "x": 1}}}`: "unknown key",
	} {
		p.write("home/settings.json", text)
		if _, err := settings.Load(p.options()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	p.write("home/settings.json", `{}`)
	for _, text := range []string{`{"retry": {"max": 9}}`, `{"providers": {}}`, `{"prices": {"openai/gpt": {"input": 0, "output": 0}}}`} {
		p.write("project/.holdfast/settings.json", text)
		if _, err := settings.Load(p.options()); err == nil || !strings.Contains(err.Error(), "only user settings") {
			t.Errorf("%s of a folder counts: %v", text, err)
		}
	}
}

// A stronger layer goes before the user's, price by price and time by time.
func TestModelsOfLayers(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"retry": {"max": 5, "maxRetryAfter": "1h"}, "providers": {"openai": {"idleTimeout": "1h", "connectTimeout": "1s"}},
		"prices": {"openai/a": {"input": 0, "output": 0}, "openai/b": {"input": 7, "output": 7}}}`)
	o := p.options()
	o.Files = append(o.Files, `{"retry": {"max": 1}, "providers": {"openai": {"idleTimeout": "2s"}}, "prices": {"openai/a": {"input": 3, "output": 3}}}`)
	s, err := settings.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	m := s.Models
	a, _ := m.PriceOf("openai", "a")
	b, _ := m.PriceOf("openai", "b")
	if *m.Retries.Value != 1 || m.MaxRetryAfter.Value != time.Hour || a.Price.Input != 3 || b.Price.Input != 7 {
		t.Errorf("%+v", m)
	}
	if got, want := m.Timeouts("openai"), (model.Timeouts{Connect: time.Second, Idle: 2 * time.Second}); got != want {
		t.Errorf("%+v", got)
	}
}
