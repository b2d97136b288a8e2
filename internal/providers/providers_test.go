package providers

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

// Every row is whole, and a key never goes over a connection that others can read.
func TestTable(t *testing.T) {
	var names []string
	for _, p := range All() {
		u, err := url.Parse(p.BaseURL)
		if err != nil || u.Hostname() == "" || strings.HasSuffix(p.BaseURL, "/") || u.RawQuery != "" {
			t.Errorf("%s: the base URL %q", p.Name, p.BaseURL)
		}
		if p.Local != (u.Hostname() == "127.0.0.1") || p.Local != (u.Scheme == "http") {
			t.Errorf("%s: local is %v, at %s", p.Name, p.Local, p.BaseURL)
		}
		if p.API != Anthropic && p.API != OpenAI || p.Example == "" || strings.ContainsAny(p.Name, "/ ") {
			t.Errorf("%+v", p)
		}
		if !p.Local && (!strings.HasSuffix(p.KeyEnv, "_API_KEY") || !strings.HasPrefix(p.KeyPage, "https://")) {
			t.Errorf("%s: a person does not learn where a key comes from", p.Name)
		}
		if p.Local && p.Start == "" {
			t.Errorf("%s: a person does not learn how to start it", p.Name)
		}
		if got, ok := Lookup(p.Name); !ok || got != p {
			t.Errorf("%s does not find itself", p.Name)
		}
		names = append(names, p.Name)
	}
	if sorted := slices.Compact(slices.Sorted(slices.Values(names))); len(sorted) != len(names) || !slices.Equal(names, Names()) {
		t.Errorf("names: %q", names)
	}
	if _, ok := Lookup("nobody"); ok {
		t.Error("nobody is known")
	}
}

func TestSameServer(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"https://api.openai.com/v1", "https://API.openai.com:443/other", true},
		{"https://api.openai.com/v1", "http://api.openai.com/v1", false},
		{"https://api.openai.com/v1", "https://api.openai.com.evil.example/v1", false},
		{"https://api.openai.com/v1", "https://api.openai.com@evil.example/v1", false},
		{"https://api.openai.com/v1", "https://api.openai.com:444/v1", false},
		{"http://127.0.0.1:1234/v1", "http://127.0.0.1:1234", true},
		{"", "", false},
		{"not an address", "not an address", false},
	} {
		if got := SameServer(tt.a, tt.b); got != tt.want {
			t.Errorf("%q and %q: %v", tt.a, tt.b, got)
		}
	}
}
