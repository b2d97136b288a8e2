package anthropic

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/call"
	"github.com/holdfast-dev/holdfast/model/internal/modelfacts"
)

// apiName is the name of the API in [transcript.Native].
const apiName = "anthropic-messages"

const (
	defaultProvider  = "anthropic"
	defaultBaseURL   = "https://api.anthropic.com/"
	defaultMaxTokens = 16384

	// bindingControls reserves space for block_binding in a request.
	bindingControls = "thinking-binding-controls-2026-08-01"
)

// Options configure a model. The zero value is ready to use, except that Anthropic requires a key.
// No environment variables are read, except, if HTTPClient is nil, those that configure a proxy.
type Options struct {
	APIKey     string
	BaseURL    string           // of another server; a "/v1" at the end is optional
	Provider   string           // name of the server in errors and for prices; "" means "anthropic"
	Header     http.Header      // additional headers of each request; the adapter's own headers cannot be replaced
	HTTPClient *http.Client     // nil: http.DefaultClient; redirects are not followed
	MaxTokens  int              // of an answer if the request sets no limit; 0 means 16384, or the model's maximum if that is less
	Price      *model.Price     // nil: the known price of the model
	Context    int              // context window in tokens; 0: the known size of the model
	Timeouts   model.Timeouts   // for a silent provider
	Now        func() time.Time // nil: time.Now
}

// adapter is one Claude model. It is safe for concurrent use.
type adapter struct {
	info      model.Info
	maxTokens int
	thinking  string // one of the model package's Thinking constants
	keyless   bool   // Anthropic's own server, without a key
	client    *http.Client
	base      *url.URL
	address   string
	header    http.Header // of every request
	provider  call.Provider
	timeouts  model.Timeouts
	heads     call.HeadCache
}

// New returns the model with a name, such as "claude-sonnet-4-6". It does no I/O. Options may be nil.
func New(name string, o *Options) (model.Model, error) {
	if o == nil {
		o = &Options{}
	}
	if name == "" {
		return nil, errors.New("anthropic: the model name is missing")
	}
	base, err := baseURL(o.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("anthropic: %w", err)
	}
	key := strings.TrimSpace(o.APIKey)
	if err := call.CheckKey(key); err != nil {
		return nil, fmt.Errorf("anthropic: %w", err)
	}
	provider := o.Provider
	if provider == "" {
		provider = defaultProvider
	}
	facts, found := modelfacts.Lookup(provider, name)
	if !found {
		facts.Thinking = modelfacts.Adaptive // the limit of every model since Claude 4.6
	}
	m := &adapter{
		info: model.Info{
			Provider: provider, Model: name, API: apiName,
			Context: facts.Context, MaxOutput: facts.MaxOutput, Price: facts.Price,
		},
		base:      base,
		maxTokens: o.MaxTokens,
		timeouts:  o.Timeouts,
		thinking:  facts.Thinking,
		keyless:   key == "" && o.BaseURL == "",
		provider:  call.Provider{Name: provider, Secrets: call.SecretsOf(key, base, o.Header), Now: o.Now},
	}
	if o.Price != nil {
		p := *o.Price
		m.info.Price = &p
	}
	if o.Context > 0 {
		m.info.Context = o.Context
	}
	if m.maxTokens <= 0 {
		m.maxTokens = defaultMaxTokens
		if facts.MaxOutput > 0 {
			m.maxTokens = min(m.maxTokens, facts.MaxOutput)
		}
	}
	m.client, m.address = call.Client(o.HTTPClient), base.JoinPath("v1/messages").String()
	m.header = call.Header("application/json", o.Header)
	m.header.Set("Anthropic-Version", "2023-06-01")
	if m.thinking == modelfacts.Preserved {
		m.header.Set("Anthropic-Beta", bindingControls)
	}
	if key != "" {
		m.header.Set("X-Api-Key", key)
	}
	return m, nil
}

// Info describes the model.
func (m *adapter) Info() model.Info { return m.info }

func baseURL(s string) (*url.URL, error) {
	if s == "" {
		s = defaultBaseURL
	}
	u, err := call.Address(s)
	if err != nil {
		return nil, err
	}
	u.Path = strings.TrimSuffix(strings.TrimSuffix(u.Path, "/"), "/v1") + "/"
	return u, nil
}
