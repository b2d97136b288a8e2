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

// Endpoint is where a provider is asked, and with what.
type Endpoint struct {
	Provider  string
	API       string // providers.Anthropic or providers.OpenAI
	BaseURL   string
	Key       string
	KeySource string      // the variable that the key came from, keyring, command, login, or none
	Header    http.Header // more headers

	own   bool // the server is the provider's by the settings or by the table
	local bool // it is a program of this machine
}

// IsOfficial reports whether the server is the provider's by the settings or by the table: keys that are
// kept are sent only there.
func (at *Endpoint) IsOfficial() bool { return at.own }

// Resolve finds where a provider is asked, and with which key. baseURL, when it is not empty,
// goes before the environment and the settings. The error says what is missing.
func Resolve(ctx context.Context, e *env.Env, provider, baseURL string, rules *settings.Settings) (*Endpoint, error) {
	return resolve(ctx, e, provider, provider, baseURL, rules, false)
}

// EndpointOf is Resolve for those who call nobody: the key is neither fetched nor missed.
func EndpointOf(e *env.Env, provider string, rules *settings.Settings) (*Endpoint, error) {
	return resolve(context.Background(), e, provider, provider, "", rules, true)
}

func resolve(ctx context.Context, e *env.Env, where, provider, baseURL string, rules *settings.Settings, noKey bool) (*Endpoint, error) {
	said := modelsOf(rules)
	at := &Endpoint{Provider: provider, KeySource: "none"}
	own, api := said.Address(provider)
	if own == "" {
		return nil, unknown(where, provider, said)
	}
	known, _ := providers.Lookup(provider)
	at.API, at.BaseURL = api, own
	if known.BaseEnv != "" && e.Lookup(known.BaseEnv) != "" {
		at.BaseURL = e.Lookup(known.BaseEnv)
	}
	if baseURL != "" {
		at.BaseURL = baseURL
	}
	at.own = providers.SameServer(at.BaseURL, own)
	at.local = known.Local && isLoopback(at.BaseURL)
	p := said.Providers[provider]
	if at.own && !noKey {
		var err error
		if at.Header, err = p.FillHeaders(e.LookupVariable); err != nil {
			return nil, outcome.Invalid(fmt.Sprintf("%s: %v", where, err), outcome.Hint(err))
		}
	}
	if err := at.fetchKey(ctx, e, &p, noKey); err != nil {
		return nil, err
	}
	if at.Key == "" && !noKey && known.KeyEnv != "" && !known.Local && providers.SameServer(at.BaseURL, known.BaseURL) {
		return nil, missingKeyError(&known, &p)
	}
	return at, nil
}

// KeyVariable is the environment's variable that holds the key of a provider, or "".
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

// HasStoredKey reports whether a key of a provider is found without the environment.
func HasStoredKey(e *env.Env, provider string, rules *settings.Settings) bool {
	ref := modelsOf(rules).Providers[provider].APIKey.Value
	if ref != "" && !strings.HasPrefix(ref, "env:") {
		return true
	}
	k, err := Keys(e)
	if err != nil {
		return false
	}
	place, err := k.Location(provider)
	return err == nil && place != ""
}

// Keys are those that the person keeps with holdfast login.
func Keys(e *env.Env) (*keys.Keys, error) {
	home, err := e.Home()
	if err != nil {
		return nil, err
	}
	return keys.Open(home, e.Lookup), nil
}

// fetchKey looks for the key: in the environment, then where the settings say.
func (at *Endpoint) fetchKey(ctx context.Context, e *env.Env, p *settings.Provider, noKey bool) error {
	ref := p.APIKey.Value
	if variable := keyVariable(at.Provider, p); variable != "" {
		if at.Key = e.Lookup(variable); at.Key != "" {
			at.KeySource = variable
			return nil
		}
	}
	if !at.own {
		return nil
	}
	if ref == "" || strings.HasPrefix(ref, "env:") {
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
			Advice: "see that it is there, or change apiKey in " + settings.OriginText(p.APIKey.Origin),
		}
	}
	return nil
}

// storedKey looks for the key that the person has logged in with.
func (at *Endpoint) storedKey(e *env.Env, noKey bool) error {
	k, err := Keys(e)
	if err != nil {
		return nil //nolint:nilerr // without a home nothing is kept
	}
	place, err := k.Location(at.Provider)
	if err != nil || place == "" {
		return err
	}
	if at.KeySource = "login"; !noKey {
		at.Key, err = k.Find(at.Provider)
	}
	return err
}

// missingKeyError is the failure of a provider that wants a key where there is none.
func missingKeyError(known *providers.Provider, p *settings.Provider) error {
	return outcome.Invalid("there is no key for "+known.Name, fmt.Sprintf("holdfast login %s, or set %s; keys are made at %s", known.Name, keyVariable(known.Name, p), known.KeyPage))
}

func isLoopback(address string) bool {
	u, err := url.Parse(address)
	return err == nil && (u.Hostname() == "localhost" || strings.HasPrefix(u.Hostname(), "127.") || u.Hostname() == "::1")
}
