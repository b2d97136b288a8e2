package settings_test

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/settings"
)

func TestWebFetch(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"webFetch": {"model": "anthropic/small"}}`)
	if m := p.load().WebFetch.Model; m.Value != "anthropic/small" || m.Origin.Line != 1 {
		t.Errorf("%+v", m)
	}
	for text, want := range map[string]string{
		`{"webFetch": {"model": " x"}}`: "webFetch.model cannot be used", `{"webFetch": {"engine": "x"}}`: `unknown key "webFetch.engine"`,
	} {
		p.write("home/settings.json", text)
		if _, err := settings.Load(p.options()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	p.write("home/settings.json", `{}`)
	p.write("project/.holdfast/settings.json", `{"webFetch": {"model": "haiku"}}`)
	if _, err := settings.Load(p.options()); err == nil || !strings.Contains(err.Error(), "only user settings, flags and managed settings") {
		t.Errorf("a folder says which model is paid: %v", err)
	}
}

func TestWebSearch(t *testing.T) {
	p := newTestHome(t)
	p.write("home/settings.json", `{"webSearch": {"engine": "brave", "keyEnv": "OUR_SEARCH_KEY", "url": "https://search.example.com/v1"}}`)
	w := p.load().WebSearch
	if w.Engine.Value != "brave" || w.KeyEnv.Value != "OUR_SEARCH_KEY" || w.URL.Value != "https://search.example.com/v1" || w.URL.Origin.Line != 1 {
		t.Errorf("%+v", w)
	}
	key := "BSA" + "abcdefghijklmnop"
	for text, want := range map[string]string{
		`{"webSearch": {"engine": "other"}}`:                    "webSearch.engine cannot be used",
		`{"webSearch": {"keyEnv": "` + key + `"}}`:              "webSearch.keyEnv cannot be used",
		`{"webSearch": {"keyEnv": "PATH"}}`:                     "webSearch.keyEnv cannot be used",
		`{"webSearch": {"key": "x"}}`:                           `unknown key "webSearch.key"`,
		`{"webSearch": {"url": "https://a:` + key + `@b/"}}`:    "webSearch.url cannot be used",
		`{"webSearch": {"url": "ftp://b/"}}`:                    "webSearch.url cannot be used",
		`{"webSearch": {"engine": "none", "url": "https://b"}}`: "have no effect",
		`{"webSearch": true}`:                                   "webSearch is true or false, want an object",
	} {
		p.write("home/settings.json", text)
		if _, err := settings.Load(p.options()); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", text, err)
		}
	}
	p.write("home/settings.json", `{}`)
	p.write("project/.holdfast/settings.json", `{"webSearch": {"url": "https://elsewhere.example"}}`)
	if _, err := settings.Load(p.options()); err == nil || !strings.Contains(err.Error(), "only user settings, flags and managed settings") {
		t.Errorf("a folder says where the key goes: %v", err)
	}
}
