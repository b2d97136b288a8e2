package models

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/keys"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/providers"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// Endpoint is a provider's server and the credentials to call it.
type Endpoint struct {
	Provider  string
	API       string // providers.Anthropic or providers.OpenAI
	BaseURL   string
	Key       string
	KeySource string      // where the key comes from: the name of a variable, keyring, command, login, or none
	Header    http.Header // additional headers

	own   bool // true if the settings or the table say that this is the provider's server
	local bool // a program on this machine
}

// IsOfficial reports whether the settings or the table say that this is the provider's server.
// Stored keys are sent only to such a server.
func (at *Endpoint) IsOfficial() bool { return at.own }

// Resolve determines a provider's server and key. baseURL, if not empty, takes precedence over the
// environment and the settings. The error names what is missing.
func Resolve(ctx context.Context, e *env.Env, provider, baseURL string, rules *settings.Settings) (*Endpoint, error) {
	return resolve(ctx, e, provider, provider, baseURL, rules, false)
}

// EndpointOf is like Resolve, for callers that do not call the server: it neither fetches nor
// requires the key.
func EndpointOf(e *env.Env, provider string, rules *settings.Settings) (*Endpoint, error) {
	return resolve(context.Background(), e, provider, provider, "", rules, true)
}

func resolve(ctx context.Context, e *env.Env, where, provider, baseURL string, rules *settings.Settings, noKey bool) (*Endpoint, error) {
	configured := modelsOf(rules)
	at := &Endpoint{Provider: provider, KeySource: "none"}
	official, api := configured.Address(provider)
	if official == "" {
		return nil, unknownProvider(where, provider, configured)
	}
	known, _ := providers.Lookup(provider)
	at.API, at.BaseURL = api, official
	if known.BaseEnv != "" && e.Lookup(known.BaseEnv) != "" {
		at.BaseURL = e.Lookup(known.BaseEnv)
	}
	if baseURL != "" {
		at.BaseURL = baseURL
	}
	at.own = providers.SameServer(at.BaseURL, official)
	at.local = known.Local && isLoopback(at.BaseURL)
	p := configured.Providers[provider]
	if at.own && !noKey {
		var err error
		if at.Header, err = p.FillHeaders(e.LookupVariable); err != nil {
			return nil, outcome.Invalid(fmt.Sprintf("%s: %v", where, err), outcome.Hint(err))
		}
	}
	if err := at.fetchKey(ctx, e, &p, noKey); err != nil {
		return nil, err
	}
	if at.Key == "" && !noKey && known.KeyEnv != "" && !known.Local {
		if hasOwnKey(provider, at.BaseURL, &p) {
			return nil, outcome.Invalid(fmt.Sprintf("no key for %s at %s", provider, at.BaseURL), "set "+keyVariable(provider, &p)+", which providers."+provider+".apiKey names")
		}
		if providers.SameServer(at.BaseURL, known.BaseURL) {
			return nil, missingKeyError(&known, &p)
		}
	}
	return at, nil
}

// hasOwnKey reports whether the settings name the key of another server for a known provider, such
// as a company's gateway. Then no other key of the provider is sent to this server.
func hasOwnKey(provider, baseURL string, p *settings.Provider) bool {
	known, ok := providers.Lookup(provider)
	return ok && p.APIKey.Value != "" && providers.SameServer(baseURL, p.BaseURL.Value) && !providers.SameServer(baseURL, known.BaseURL)
}

// KeyVariable returns the environment variable for the key of a provider, or "".
func KeyVariable(provider string, rules *settings.Settings) string {
	p := modelsOf(rules).Providers[provider]
	return keyVariable(provider, &p)
}

func keyVariable(provider string, p *settings.Provider) string {
	if name, ok := strings.CutPrefix(p.APIKey.Value, "env:"); ok {
		return name
	}
	known, _ := providers.Lookup(provider)
	return known.KeyEnv
}

// HasStoredKey reports whether a provider's key is available outside the environment.
func HasStoredKey(e *env.Env, provider string, rules *settings.Settings) bool {
	p := modelsOf(rules).Providers[provider]
	if ref := p.APIKey.Value; ref != "" && !strings.HasPrefix(ref, "env:") {
		return true
	}
	if hasOwnKey(provider, p.BaseURL.Value, &p) {
		return false
	}
	k, err := Keys(e)
	if err != nil {
		return false
	}
	location, err := k.Location(provider)
	return err == nil && location != ""
}

// Keys returns the keys stored by holdfast login.
func Keys(e *env.Env) (*keys.Keys, error) {
	home, err := e.Home()
	if err != nil {
		return nil, err
	}
	return keys.Open(home, e.Lookup), nil
}

// fetchKey finds the key: in the environment, then where the settings say.
func (at *Endpoint) fetchKey(ctx context.Context, e *env.Env, p *settings.Provider, noKey bool) error {
	ref := p.APIKey.Value
	fromVariable := ref == "" || strings.HasPrefix(ref, "env:")
	onlyRef := hasOwnKey(at.Provider, at.BaseURL, p)
	if variable := keyVariable(at.Provider, p); variable != "" && (fromVariable || !onlyRef) {
		if at.Key = e.Lookup(variable); at.Key != "" {
			at.KeySource = variable
			return nil
		}
	}
	switch {
	case !at.own, fromVariable && onlyRef:
		return nil
	case fromVariable:
		return at.storedKey(e, noKey)
	}
	at.KeySource, _, _ = strings.Cut(ref, ":")
	if noKey {
		return nil
	}
	var err error
	if at.Key, err = e.Reference(ctx, ref); err != nil {
		return &outcome.Failure{
			Message: fmt.Sprintf("the key of %s: %s: %v", at.Provider, ref, err), Cause: err, Result: outcome.Usage,
			Advice: "check that it exists, or change apiKey in " + settings.OriginText(p.APIKey.Origin),
		}
	}
	return nil
}

// storedKey finds the key stored by holdfast login.
func (at *Endpoint) storedKey(e *env.Env, noKey bool) error {
	k, err := Keys(e)
	if err != nil {
		return nil //nolint:nilerr // without a home folder there are no stored keys
	}
	location, err := k.Location(at.Provider)
	if err != nil || location == "" {
		return err
	}
	if at.KeySource = "login"; !noKey {
		at.Key, err = k.Find(at.Provider)
	}
	return err
}

// missingKeyError returns the error for a provider that requires a key and has none.
func missingKeyError(known *providers.Provider, p *settings.Provider) error {
	return outcome.Invalid("no key for "+known.Name, fmt.Sprintf("run holdfast login %s, or set %s; create a key at %s", known.Name, keyVariable(known.Name, p), known.KeyPage))
}

func isLoopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Hostname() == "localhost" || strings.HasPrefix(u.Hostname(), "127.") || u.Hostname() == "::1")
}
