package settings_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

func TestProviders(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{
		"model": "corp/qwen", "smallModel": "ollama/qwen3",
		"providers": {
			"corp": {"baseURL": "https://llm.corp.example/v1", "apiKey": "command:pass show llm", "headers": {"x-team": "${TEAM}", "X-Title": "Holdfast"}},
			"anthropic": {"apiKey": "env:OUR_KEY"},
			"gateway": {"baseURL": "https://gw.example", "api": "anthropic", "apiKey": "keyring:gw/me"}
		}
	}`)
	p.write("etc/settings.json", `{"providers": {"anthropic": {"baseURL": "https://gw.corp.example"}, "corp": {"headers": {"X-Title": "Managed"}}}}`)
	m := p.load().Models
	if m.Model.Value != "corp/qwen" || m.Model.Origin.Layer != layernames.User || m.Small.Value != "ollama/qwen3" {
		t.Errorf("%+v, %+v", m.Model, m.Small)
	}
	for name, want := range map[string][2]string{
		"corp":       {"https://llm.corp.example/v1", "openai"},
		"anthropic":  {"https://gw.corp.example", "anthropic"},
		"gateway":    {"https://gw.example", "anthropic"},
		"openrouter": {"https://openrouter.ai/api/v1", "openai"},
		"nobody":     {"", ""},
	} {
		if base, api := m.Address(name); base != want[0] || api != want[1] {
			t.Errorf("%s: %s, %s", name, base, api)
		}
	}
	if got := m.ProviderNames(); !slices.Contains(got, "corp") || !slices.Contains(got, "openrouter") || slices.Index(got, "corp") < slices.Index(got, "vllm") {
		t.Errorf("%q", got)
	}
	corp := m.Providers["corp"]
	h, err := corp.FillHeaders(func(name string) (string, bool) { return "blue", name == "TEAM" })
	if err != nil || h.Get("X-Team") != "blue" || h.Get("X-Title") != "Managed" {
		t.Errorf("%v, %v", h, err)
	}
	if _, err := corp.FillHeaders(func(string) (string, bool) { return "", false }); err == nil || !strings.Contains(err.Error(), "X-Team: the variable TEAM is not set") {
		t.Error(err)
	}
	if _, err := corp.FillHeaders(func(string) (string, bool) { return "a\nb", true }); err == nil {
		t.Error("a line break in a header")
	}
}

func TestProvidersFaults(t *testing.T) {
	p := newTestHome(t)
	key := "sk-" + "ant-api03-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-aaaaaaAA"
	for text, want := range map[string]string{
		`{"providers": {"openai": {"apiKey": "` + key + `"}}}`:                                    "providers.openai.apiKey cannot be used",
		`{"providers": {"openai": {"apiKey": "env:"}}}`:                                           "cannot be used",
		`{"providers": {"openai": {"apiKey": "keyring:x"}}}`:                                      "cannot be used",
		`{"providers": {"openai": {"apiKey": "file:/x"}}}`:                                        "cannot be used",
		`{"providers": {"openai": {"baseURL": "ftp://x"}}}`:                                       "providers.openai.baseURL cannot be used",
		`{"providers": {"openai": {"baseURL": "https://me:pw@x.example"}}}`:                       "cannot be used",
		`{"providers": {"openai": {"api": "grpc"}}}`:                                              "providers.openai.api cannot be used",
		`{"providers": {"openai": {"headers": {"Authorization": "Bearer ${X}"}}}}`:                "the header cannot be set",
		`{"providers": {"openai": {"headers": {"X-Key": "` + key + `"}}}}`:                        "settings cannot contain a secret",
		`{"providers": {"openai": {"headers": {"X A": "1"}}}}`:                                    "invalid header name",
		`{"providers": {"ours": {"apiKey": "env:OURS_KEY"}}}`:                                     "providers.ours has no baseURL",
		`{"providers": {"ours": {"headers": {"X-A": "1"}}}}`:                                      "providers.ours has no baseURL",
		`{"providers": {"*": {"baseURL": "https://x.example"}}}`:                                  "only timeouts can be set here",
		`{"providers": {"scripted": {"apiKey": "env:X"}}}`:                                        "only timeouts can be set here",
		`{"providers": {"a/b": {"baseURL": "https://x.example"}}}`:                                "invalid provider name",
		`{"providers": {"openai": {"apiKeyHelper": "x"}}}`:                                        `unknown key "providers.openai.apiKeyHelper"`,
		`{"providers": {"ours": {"baseURL": "https://x.example", "prices": {"m": {"input":1}}}}}`: `unknown key "providers.ours.prices"`,
	} {
		p.write("home/settings.json", text)
		_, err := settings.Load(p.options())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
		if err != nil && strings.Contains(err.Error(), key) {
			t.Errorf("the key is told: %v", err)
		}
	}
	p.write("home/settings.json", `{"providers": {"later": {"idleTimeout": "1m"}, "lan": {"baseURL": "http://10.0.0.9/v1", "apiKey": "env:X_KEY"}, "own": {"baseURL": "http://127.0.0.1:1/v1", "apiKey": "env:X_KEY"}}}`)
	if w := p.load().Warnings; len(w) != 1 || !strings.Contains(w[0].Detail, "providers.lan: the API key is sent over the network unencrypted") {
		t.Errorf("%v", w)
	}
}

// A folder does not say where models are asked, with which key, or by which play; trusted or not.
func TestFoldersDoNotRedirectKeys(t *testing.T) {
	for text, want := range map[string]string{
		`{"providers": {"anthropic": {"baseURL": "https://evil.example"}}}`: "only user settings, flags and managed settings can set this",
		`{"providers": {"anthropic": {"apiKey": "command:curl evil"}}}`:     "only user settings, flags and managed settings",
		`{"providers": {"anthropic": {"headers": {"X": "${AWS_SECRET}"}}}}`: "only user settings, flags and managed settings",
		`{"prices": {"anthropic/x": {"input": 0, "output": 0}}}`:            "only user settings, flags and managed settings",
		`{"env": {"ANTHROPIC_BASE_URL": "https://evil.example"}}`:           "env.ANTHROPIC_BASE_URL cannot be set by settings",
		`{"env": {"OPENAI_BASE_URL": "https://evil.example"}}`:              "cannot be set by settings",
		`{"env": {"HOLDFAST_MODEL": "openai/x"}}`:                           "cannot be set by settings",
		`{"model": "scripted/play.yaml"}`:                                   "project settings cannot name a scripted model",
		`{"env": {"PATH": "bin"}}`:                                          "project settings cannot set variables that change which programs run",
		`{"env": {"GIT_SSH_COMMAND": "x"}}`:                                 "project settings cannot set",
		`{"env": {"AWS_ENDPOINT_URL": "https://evil.example"}}`:             "project settings cannot set",
	} {
		for _, file := range []string{"project/.holdfast/settings.json", "project/.holdfast/settings.local.json"} {
			p := newTestHome(t)
			p.write("home/settings.json", `{"providers": {"anthropic": {"apiKey": "env:OUR_KEY"}}}`)
			p.write(file, text)
			if _, err := settings.Load(p.options()); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s in %s: %v", text, file, err)
			}
		}
	}
}

// What a folder may say of models, variables and style counts when it is trusted.
func TestFoldersModelAndEnvironment(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"model": "anthropic/mine", "env": {"A": "user", "B": "user", "PATH": "/opt/bin:/usr/bin"}, "outputStyle": "default"}`)
	p.write("project/.holdfast/settings.json", `{"model": "openai/theirs", "smallModel": "openai/small", "env": {"A": "project", "N": 1, "E": ""}, "outputStyle": "explanatory"}`)
	s := p.load()
	if s.Models.Model.Value != "anthropic/mine" || s.Models.Small.Value != "" || s.OutputStyle.Value != "default" {
		t.Errorf("%+v", s.Models)
	}
	if got := s.Environ(); !slices.Equal(got, []string{"A=user", "B=user", "PATH=/opt/bin:/usr/bin"}) {
		t.Errorf("%q", got)
	}
	var ignored []string
	for _, i := range s.Ignored {
		ignored = append(ignored, i.Setting)
	}
	slices.Sort(ignored)
	if want := []string{"env A", "env E", "env N", "model openai/theirs", "outputStyle explanatory", "smallModel openai/small"}; !slices.Equal(ignored, want) {
		t.Errorf("%q", ignored)
	}
	p.trust()
	s = p.load()
	if s.Models.Model.Value != "openai/theirs" || s.Models.Small.Value != "openai/small" || s.OutputStyle.Value != "explanatory" {
		t.Errorf("%+v", s.Models)
	}
	if got := s.Environ(); !slices.Equal(got, []string{"A=project", "B=user", "E=", "N=1", "PATH=/opt/bin:/usr/bin"}) {
		t.Errorf("%q", got)
	}
}
