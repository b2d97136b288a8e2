package settings

import (
	"net/url"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
)

// WebSearch configures the search engine of the tool WebSearch. "" is not set.
type WebSearch struct {
	Engine Value[string] // brave; with "none", the tool is not offered
	KeyEnv Value[string] // the environment variable with the key
	URL    Value[string]
}

// WebFetch configures what reads a page for the tool WebFetch.
type WebFetch struct {
	Model Value[string] // a model name as in a sub-agent definition; with "none", the run's model reads the page itself; "" means not set
}

// webFetchBlock decodes webFetch.
func (s *parsedSource) webFetchBlock(path string, n jsontree.Node) {
	if !s.requireUserLayer(path, n) {
		return
	}
	s.object(path, n, map[string]func(string, jsontree.Node){
		"model": s.fitting(&s.fetch.Model, `write "none", "inherit", "haiku", a model or PROVIDER/MODEL`, func(text string) bool {
			return text != "" && strings.TrimSpace(text) == text && !strings.ContainsAny(text, "\r\n\t\x00")
		}),
	})
}

// webSearchBlock decodes webSearch.
func (s *parsedSource) webSearchBlock(path string, n jsontree.Node) {
	if !s.requireUserLayer(path, n) {
		return
	}
	w := &s.web
	s.object(path, n, map[string]func(string, jsontree.Node){
		"engine": s.fitting(&w.Engine, `write "brave" or "none"`, func(text string) bool { return text == "brave" || text == "none" }),
		"keyEnv": s.fitting(&w.KeyEnv, `write the name of a variable that holds the key, such as "BRAVE_SEARCH_API_KEY", and not the key`, isKeyName),
		"url":    s.fitting(&w.URL, "write https://HOST/PATH, without a name, a password and a query", isEngineURL),
	})
	if w.Engine.Value == "none" && (w.KeyEnv.Value != "" || w.URL.Value != "") {
		s.fault(n.At, "remove them", "%s: keyEnv and url have no effect with the engine none", path)
	}
}

// fitting decodes a string that must meet a condition. An invalid value is not shown, because it
// may be a key.
func (s *parsedSource) fitting(into *Value[string], hint string, fits func(string) bool) func(string, jsontree.Node) {
	return func(path string, n jsontree.Node) {
		text, ok := s.text(path, n)
		switch {
		case !ok:
		case !fits(text):
			s.fault(n.At, hint, "%s cannot be used", path)
		default:
			*into = Value[string]{text, s.origin(n, text)}
		}
	}
}

// isKeyName accepts variable names whose values commands do not get.
func isKeyName(name string) bool {
	for i, c := range []byte(name) {
		if c != '_' && (c < 'A' || c > 'Z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_TOKEN")
}

func isEngineURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil && u.RawQuery == "" && u.Fragment == ""
}

// addWebSearch takes each key from the strongest layer that sets it.
func (m *merger) addWebSearch(s *parsedSource) {
	prefer(&m.out.WebFetch.Model, s.fetch.Model)
	prefer(&m.out.WebSearch.Engine, s.web.Engine)
	prefer(&m.out.WebSearch.KeyEnv, s.web.KeyEnv)
	prefer(&m.out.WebSearch.URL, s.web.URL)
}
