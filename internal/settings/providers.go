package settings

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/providers"
)

// Provider says where a provider of models is, which key it needs, and the time limits. Headers may
// contain ${VAR}; see [Provider.FillHeaders].
type Provider struct {
	BaseURL Value[string]
	API     Value[string] // providers.Anthropic or providers.OpenAI
	APIKey  Value[string] // env:NAME, keyring:SERVICE/USER or command:PROGRAM ARGUMENTS
	Headers map[string]Value[string]

	Connect, FirstByte, Idle Value[time.Duration]
}

// fill sets unset values from a weaker layer.
func (p *Provider) fill(weaker *Provider) {
	prefer(&p.BaseURL, weaker.BaseURL)
	prefer(&p.API, weaker.API)
	prefer(&p.APIKey, weaker.APIKey)
	prefer(&p.Connect, weaker.Connect)
	prefer(&p.FirstByte, weaker.FirstByte)
	prefer(&p.Idle, weaker.Idle)
	for name, v := range weaker.Headers {
		if p.Headers == nil {
			p.Headers = map[string]Value[string]{}
		}
		if _, known := p.Headers[name]; !known {
			p.Headers[name] = v
		}
	}
}

// FillHeaders returns the headers with ${VAR} replaced. The error says which variable is not set.
func (p *Provider) FillHeaders(getenv func(name string) (string, bool)) (http.Header, error) {
	h := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(p.Headers)) {
		v := p.Headers[name]
		text, missing := expand(v.Value, getenv)
		switch {
		case len(missing) > 0:
			return nil, &Error{Problems: []Problem{{
				Layer: v.Origin.Layer, File: v.Origin.File, Line: v.Origin.Line, Col: v.Origin.Col, Fatal: true,
				Detail: fmt.Sprintf("the header %s: the variable %s is not set", name, strings.Join(missing, ", ")), Hint: "set it, or remove the header",
			}}}
		case strings.ContainsAny(text, "\r\n\x00"):
			return nil, &Error{Problems: []Problem{{
				Layer: v.Origin.Layer, File: v.Origin.File, Line: v.Origin.Line, Col: v.Origin.Col, Fatal: true,
				Detail: fmt.Sprintf("the header %s contains a line break", name),
			}}}
		}
		h.Set(name, text)
	}
	return h, nil
}

// providersBlock decodes providers. A project's folder cannot set them, because it could then send
// the key anywhere.
func (s *parsedSource) providersBlock(path string, n jsontree.Node) {
	if !s.requireUserLayer(path, n) || !s.want(path, n, jsontree.Object) {
		return
	}
	s.models.Providers = map[string]Provider{}
	for _, m := range n.Members {
		var p Provider
		at := path + "." + m.Key
		s.object(at, m.Value, map[string]func(string, jsontree.Node){
			"baseURL": s.fitting(&p.BaseURL, "write https://HOST/PATH, without a name, a password and a query", isEngineURL),
			"api": s.fitting(&p.API, `write "openai" for the Chat Completions API or "anthropic" for the Messages API`, func(text string) bool {
				return text == providers.OpenAI || text == providers.Anthropic
			}),
			"apiKey":           s.fitting(&p.APIKey, "settings cannot contain a key: store it with holdfast login "+m.Key+`, or write "env:NAME", "keyring:SERVICE/USER" or "command:PROGRAM ARGUMENTS"`, isReference),
			"headers":          s.headers(&p),
			"connectTimeout":   s.duration(&p.Connect),
			"firstByteTimeout": s.duration(&p.FirstByte),
			"idleTimeout":      s.duration(&p.Idle),
		})
		s.checkProvider(at, m, &p)
		s.models.Providers[m.Key] = p
	}
}

// checkProvider checks a provider's values together.
func (s *parsedSource) checkProvider(at string, m jsontree.Member, p *Provider) {
	address := p.BaseURL.Value != "" || p.API.Value != "" || p.APIKey.Value != "" || len(p.Headers) > 0
	switch {
	case !address:
	case m.Key == "*" || m.Key == "scripted":
		s.fault(m.At, "name a provider", "%s: only timeouts can be set here", at)
	case strings.ContainsAny(m.Key, "/ \t"):
		s.fault(m.At, "the provider name is the part before the first / of --model", "%s: invalid provider name %q", at, m.Key)
	case isPlainHTTP(p.BaseURL.Value) && p.APIKey.Value != "":
		o := p.BaseURL.Origin
		s.problems = append(s.problems, Problem{
			Layer: o.Layer, File: o.File, Line: o.Line, Col: o.Col,
			Detail: at + ": the API key is sent over the network unencrypted", Hint: "use https:// if the server supports it",
		})
	}
}

// isReference reports whether a text is a reference to a key, not a key itself.
func isReference(text string) bool {
	kind, rest, ok := strings.Cut(text, ":")
	if !ok || strings.TrimSpace(rest) != rest || rest == "" || strings.ContainsAny(text, "\r\n\x00") {
		return false
	}
	switch kind {
	case "env":
		return variableName().MatchString(rest)
	case "keyring":
		service, user, ok := strings.Cut(rest, "/")
		return ok && service != "" && user != ""
	case "command":
		return true
	}
	return false
}

// ownHeaders are the headers that every call sets, with the setting to use instead.
var ownHeaders = map[string]string{
	"Authorization": "write apiKey", "X-Api-Key": "write apiKey", "Host": "write baseURL", "Content-Type": "", "Content-Length": "",
	"Transfer-Encoding": "", "Connection": "", "Accept": "", "Accept-Encoding": "", "Anthropic-Version": "",
}

// headers decodes additional request headers.
func (s *parsedSource) headers(p *Provider) func(string, jsontree.Node) {
	return func(path string, n jsontree.Node) {
		var pairs map[string]string
		s.pairs(&pairs, isToken, "header")(path, n)
		for _, m := range n.Members {
			text, ok := pairs[m.Key]
			if !ok {
				continue
			}
			name := http.CanonicalHeaderKey(m.Key)
			if hint, reserved := ownHeaders[name]; reserved {
				s.fault(m.At, hint, "%s.%s: the header cannot be set", path, m.Key)
				continue
			}
			if holdsSecret(text) {
				s.fault(m.Value.At, "write ${NAME} for a variable that holds it", "%s.%s: settings cannot contain a secret", path, m.Key)
				continue
			}
			if p.Headers == nil {
				p.Headers = map[string]Value[string]{}
			}
			p.Headers[name] = Value[string]{text, s.origin(m.Value, m.Key)}
		}
	}
}

// holdsSecret reports whether a text looks like a key or a token.
func holdsSecret(text string) bool {
	m, err := secret.New(nil)
	if err != nil {
		return false
	}
	masked, _ := m.Text(text)
	return masked != text
}

// checkProviders rejects an unknown provider without a base URL.
func (m *merger) checkProviders() {
	for _, name := range slices.Sorted(maps.Keys(m.out.Models.Providers)) {
		p := m.out.Models.Providers[name]
		if _, known := providers.Lookup(name); known || p.BaseURL.Value != "" {
			continue
		}
		o := p.APIKey.Origin
		for _, v := range p.Headers {
			o = v.Origin
		}
		if p.API.Value != "" {
			o = p.API.Origin
		}
		if o.Layer == "" {
			continue
		}
		m.problems = append(m.problems, Problem{
			Layer: o.Layer, File: o.File, Line: o.Line, Col: o.Col, Fatal: true,
			Detail: fmt.Sprintf("providers.%s has no baseURL", name), Hint: "write its base URL; known by name are " + strings.Join(providers.Names(), ", "),
		})
	}
}

// modelName decodes the name of a model. A folder may name a model of a provider that the user has,
// but no scripted model.
func (s *parsedSource) modelName(into *Value[string]) func(string, jsontree.Node) {
	return func(path string, n jsontree.Node) {
		text, ok := s.text(path, n)
		if !ok {
			return
		}
		provider, name, ok := strings.Cut(text, "/")
		switch {
		case !ok || provider == "" || name == "" || strings.TrimSpace(text) != text || strings.ContainsAny(text, "\r\n\t\x00"):
			s.fault(n.At, `write PROVIDER/MODEL, such as "anthropic/claude-sonnet-4-6"`, "%s: invalid model name %q", path, text)
		case provider == "scripted" && (s.layer == layernames.Project || s.layer == layernames.Local):
			s.fault(n.At, "name it with --model", "%s: project settings cannot name a scripted model", path)
		default:
			*into = Value[string]{text, s.origin(n, text)}
		}
	}
}

// Address returns the base URL and the API of a provider from the settings and the table of known
// providers; both are "" if it is unknown.
func (m *Models) Address(name string) (baseURL, api string) {
	known, ok := providers.Lookup(name)
	configured := m.Providers[name]
	baseURL, api = known.BaseURL, known.API
	if configured.BaseURL.Value != "" {
		baseURL = configured.BaseURL.Value
		if !ok {
			api = providers.OpenAI
		}
	}
	if configured.API.Value != "" {
		api = configured.API.Value
	}
	return baseURL, api
}

// ProviderNames lists the known providers and those of the settings.
func (m *Models) ProviderNames() []string {
	list := providers.Names()
	for _, name := range slices.Sorted(maps.Keys(m.Providers)) {
		if m.Providers[name].BaseURL.Value != "" && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// isPlainHTTP reports whether a key would be sent to another machine unencrypted.
func isPlainHTTP(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "http" && u.Hostname() != "localhost" && !strings.HasPrefix(u.Hostname(), "127.") && u.Hostname() != "::1"
}
