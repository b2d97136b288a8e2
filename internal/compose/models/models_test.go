package models

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/model"
)

func rules(t *testing.T, text string) *settings.Settings {
	t.Helper()
	dir := t.TempDir()
	s, err := settings.Load(&settings.Options{Home: dir, Cwd: dir, Managed: filepath.Join(dir, "none.json"), Files: []string{text}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Where a model is asked, with which key: by flags, the environment, the settings, and the table.
func TestResolve(t *testing.T) {
	const ours = `{"providers": {
		"corp": {"baseURL": "https://llm.corp.example/v1", "apiKey": "command:echo from-command", "headers": {"X-Team": "${TEAM}"}},
		"anthropic": {"apiKey": "env:OUR_KEY"}, "openai": {"apiKey": "command:echo from-command"}}}`
	for _, tt := range []struct {
		name, provider, base string
		vars                 []string
		url, key, source     string
		fails                string
	}{
		{name: "by the table", provider: "openrouter", vars: []string{"OPENROUTER_API_KEY=k"}, url: "https://openrouter.ai/api/v1", key: "k", source: "OPENROUTER_API_KEY"},
		{name: "no key", provider: "groq", fails: "no key for groq"},
		{name: "no key where none is wanted", provider: "ollama", url: "http://127.0.0.1:11434/v1", source: "none"},
		{name: "a local one with a key", provider: "vllm", vars: []string{"VLLM_API_KEY=v"}, url: "http://127.0.0.1:8000/v1", key: "v", source: "VLLM_API_KEY"},
		{name: "by the settings", provider: "corp", vars: []string{"TEAM=blue"}, url: "https://llm.corp.example/v1", key: "from-command", source: "command"},
		{name: "a header without its variable", provider: "corp", fails: "the variable TEAM is not set"},
		{name: "another variable", provider: "anthropic", vars: []string{"OUR_KEY=o", "ANTHROPIC_API_KEY=a"}, url: "https://api.anthropic.com", key: "o", source: "OUR_KEY"},
		{name: "not the usual variable", provider: "anthropic", vars: []string{"ANTHROPIC_API_KEY=a"}, fails: "no key for anthropic"},
		{name: "the environment goes before a command", provider: "openai", vars: []string{"OPENAI_API_KEY=e"}, url: "https://api.openai.com/v1", key: "e", source: "OPENAI_API_KEY"},
		{name: "a command", provider: "openai", url: "https://api.openai.com/v1", key: "from-command", source: "command"},
		{name: "another server by the environment", provider: "openai", vars: []string{"OPENAI_BASE_URL=https://evil.example/v1"}, url: "https://evil.example/v1", source: "none"},
		{name: "another server by a flag", provider: "openai", base: "https://api.openai.com.evil.example/v1", url: "https://api.openai.com.evil.example/v1", source: "none"},
		{name: "another path of the same server", provider: "openai", base: "https://api.openai.com/v2", url: "https://api.openai.com/v2", key: "from-command", source: "command"},
		{name: "headers stay at home", provider: "corp", base: "https://evil.example", url: "https://evil.example", source: "none"},
		{name: "nobody", provider: "nobody", fails: `unknown provider "nobody"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &env.Env{Vars: append(tt.vars, "PATH=/usr/bin:/bin")}
			at, err := Resolve(t.Context(), e, tt.provider, tt.base, rules(t, ours))
			if tt.fails != "" {
				if err == nil || !strings.Contains(err.Error(), tt.fails) || outcome.Hint(err) == "" || outcome.FromError(err) != outcome.Usage {
					t.Errorf("%v, hint %s", err, outcome.Hint(err))
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if at.BaseURL != tt.url || at.Key != tt.key || at.KeySource != tt.source {
				t.Errorf("%+v", at)
			}
			if at.own != (len(at.Header) > 0) && tt.provider == "corp" {
				t.Errorf("headers %v", at.Header)
			}
		})
	}
}

// The settings name a company's gateway for a known provider. With an apiKey, the provider's own
// variable and stored key are not sent there.
func TestKeyOfAGateway(t *testing.T) {
	home := t.TempDir()
	vars := []string{"HOME=" + home, "HOLDFAST_HOME=" + home, "PATH=/usr/bin:/bin", "ANTHROPIC_API_KEY=a"}
	e := &env.Env{Vars: vars}
	k, err := Keys(e)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.Store("anthropic", "stored", true, time.Now()); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, fields, more, key, source string }{
		{"its variable", `, "apiKey": "env:CORP_KEY"`, "CORP_KEY=c", "c", "CORP_KEY"},
		{"its variable is not set", `, "apiKey": "env:CORP_KEY"`, "A=b", "", ""},
		{"its command", `, "apiKey": "command:echo from-command"`, "A=b", "from-command", "command"},
		{"no apiKey, the provider's variable", ``, "A=b", "a", "ANTHROPIC_API_KEY"},
		{"no apiKey, the stored key", ``, "ANTHROPIC_API_KEY=", "stored", "login"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := &env.Env{Vars: append(slices.Clone(vars), tt.more)}
			s := rules(t, `{"providers": {"anthropic": {"baseURL": "https://llm.corp.example"`+tt.fields+`}}}`)
			at, err := Resolve(t.Context(), e, "anthropic", "", s)
			if tt.key == "" {
				if err == nil || !strings.Contains(err.Error(), "no key for anthropic at https://llm.corp.example") || !strings.Contains(outcome.Hint(err), "set CORP_KEY") {
					t.Errorf("%v, hint %s", err, outcome.Hint(err))
				}
				if HasStoredKey(e, "anthropic", s) {
					t.Error("the stored key counts as a key of the gateway")
				}
				return
			}
			if err != nil || at.Key != tt.key || at.KeySource != tt.source {
				t.Errorf("%+v, %v", at, err)
			}
		})
	}
}

// A command that does not print a key is told with the place where it was named.
func TestKeyCommandFails(t *testing.T) {
	_, err := Resolve(t.Context(), &env.Env{Vars: []string{"PATH=/bin"}}, "openai", "", rules(t, `{"providers": {"openai": {"apiKey": "command:false"}}}`))
	if err == nil || !strings.Contains(err.Error(), "the key of openai: command:false") || !strings.Contains(outcome.Hint(err), "--settings:1:") {
		t.Errorf("%v, hint %s", err, outcome.Hint(err))
	}
}

// What a model of the settings is sent: the key and the headers of its provider.
func TestRequests(t *testing.T) {
	var got http.Header
	var path string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, path = r.Header, r.URL.Path
		http.Error(w, `{"error":{"message":"no more of `+strings.Repeat("s", 20)+`"}}`, http.StatusPaymentRequired)
	}))
	defer server.Close()
	long := strings.Repeat("s", 20)
	for api, want := range map[string]string{"openai": "/v1/chat/completions", "anthropic": "/v1/messages"} {
		s := rules(t, `{"model": "corp/big", "prices": {"corp/*": {"input": 1, "output": 2}},
			"providers": {"corp": {"baseURL": "`+server.URL+`/v1", "api": "`+api+`", "apiKey": "env:CORP_KEY", "headers": {"X-Team": "blue", "X-Pass": "${PASS}", "User-Agent": "corp"}}}}`)
		m, err := Open(t.Context(), &env.Env{Vars: []string{"CORP_KEY=the-key", "PASS=" + long}}, Choice{}, s)
		if err != nil {
			t.Fatal(err)
		}
		info := m.Primary.Info()
		if info.Provider != "corp" || info.Model != "big" || info.Price == nil || info.Price.Output != 2 || m.KeySource != "CORP_KEY" {
			t.Errorf("%+v", info)
		}
		for _, err := range m.Primary.Stream(context.Background(), &model.Request{}) {
			if err == nil || strings.Contains(err.Error(), long) {
				t.Errorf("%v", err)
			}
		}
		if path != want || got.Get("X-Team") != "blue" || got.Get("X-Pass") != long || got.Get("User-Agent") != "corp" || got.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %v", path, got)
		}
		if got.Get("Authorization")+got.Get("X-Api-Key") != map[string]string{"openai": "Bearer the-key", "anthropic": "the-key"}[api] {
			t.Errorf("%v", got)
		}
	}
}

// Who names the model: a flag, the environment, the settings.
func TestDefault(t *testing.T) {
	s := rules(t, `{"model": "ollama/set"}`)
	for _, tt := range []struct {
		choice Choice
		vars   []string
		rules  *settings.Settings
		want   string
	}{
		{Choice{Model: "ollama/flag"}, []string{"HOLDFAST_MODEL=ollama/env"}, s, "flag"},
		{Choice{}, []string{"HOLDFAST_MODEL=ollama/env"}, s, "env"},
		{Choice{}, nil, s, "set"},
		{Choice{}, nil, rules(t, `{}`), ""},
		{Choice{}, nil, nil, ""},
	} {
		m, err := Open(t.Context(), &env.Env{Vars: tt.vars}, tt.choice, tt.rules)
		if tt.want == "" {
			if err == nil || err.Error() != "no model is configured" {
				t.Error(err)
			}
			continue
		}
		if err != nil || m.Primary.Info().Model != tt.want {
			t.Errorf("%s: %+v, %v", tt.want, m, err)
		}
		if p := m.Primary.Info().Price; p == nil || *p != (model.Price{}) {
			t.Errorf("a model of one's own machine costs %+v", p)
		}
	}
}

// What a label needs is there without a key, and without asking for one.
func TestNoKeyFetched(t *testing.T) {
	m, err := Open(t.Context(), &env.Env{}, Choice{Model: "openai/x", NoKey: true}, rules(t, `{"providers": {"openai": {"apiKey": "command:false"}}}`))
	if err != nil || m.KeySource != "command" || m.Primary.Info().String() != "openai/x" {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := Open(t.Context(), &env.Env{}, Choice{Model: "groq/x", NoKey: true}, nil); err != nil {
		t.Error(err)
	}
	if HasStoredKey(&env.Env{}, "openai", nil) || KeyVariable("groq", nil) != "GROQ_API_KEY" {
		t.Error("keys without settings")
	}
}
