package openai

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
const apiName = "openai-chat"

const (
	defaultProvider = "openai"
	defaultBaseURL  = "https://api.openai.com/v1/"
)

// Options configure a model. The zero value is ready to use, except that OpenAI requires a key. No
// environment variables are read, except, if HTTPClient is nil, those that configure a proxy.
type Options struct {
	APIKey     string           // may be empty if the server requires no key
	BaseURL    string           // of another server, including "/v1"
	Provider   string           // name of the server in errors and for prices; "" means "openai"
	Header     http.Header      // additional headers of each request; the adapter's own headers cannot be replaced
	HTTPClient *http.Client     // nil: http.DefaultClient; redirects are not followed
	MaxTokens  int              // of an answer if the request sets no limit; 0 means the server's default
	Price      *model.Price     // nil: the known price of the model
	Reported   bool             // answers contain their cost, as those of OpenRouter do
	Context    int              // context window in tokens; 0 means the known size of the model
	Timeouts   model.Timeouts   // for a silent provider
	Now        func() time.Time // nil: time.Now
}

// adapter is one model of a server. It is safe for concurrent use.
type adapter struct {
	info        model.Info
	maxTokens   int
	official    bool // OpenAI itself, which requires the newer parameter names
	reportsCost bool // OpenRouter, which reports the cost of an answer if the request asks for it
	keyless     bool // OpenAI itself, without a key
	client      *http.Client
	base        *url.URL
	address     string
	header      http.Header // of every request
	provider    call.Provider
	timeouts    model.Timeouts
	heads       call.HeadCache
}

// New returns the model with a name, such as "gpt-5.1". It does no I/O. Options may be nil.
func New(name string, o *Options) (model.Model, error) {
	if o == nil {
		o = &Options{}
	}
	if name == "" {
		return nil, errors.New("openai: the model name is missing")
	}
	provider, address := o.Provider, o.BaseURL
	if provider == "" {
		provider = defaultProvider
	}
	if address == "" {
		address = defaultBaseURL
	}
	base, err := call.Address(address)
	if err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	key := strings.TrimSpace(o.APIKey)
	if err := call.CheckKey(key); err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	base.Path = strings.TrimSuffix(base.Path, "/") + "/"
	facts, _ := modelfacts.Lookup(provider, name)
	m := &adapter{
		info: model.Info{
			Provider: provider, Model: name, API: apiName,
			Context: facts.Context, MaxOutput: facts.MaxOutput, Price: facts.Price,
		},
		base:      base,
		maxTokens: o.MaxTokens,
		timeouts:  o.Timeouts,
		official:  base.Hostname() == "api.openai.com",
		provider:  call.Provider{Name: provider, Secrets: call.SecretsOf(key, base, o.Header), Now: o.Now},
	}
	m.keyless = m.official && key == ""
	m.reportsCost = base.Hostname() == "openrouter.ai"
	m.info.Reported = o.Reported || m.reportsCost
	if o.Price != nil {
		p := *o.Price
		m.info.Price = &p
	}
	if o.Context > 0 {
		m.info.Context = o.Context
	}
	m.client, m.address = call.Client(o.HTTPClient), base.JoinPath("chat/completions").String()
	m.header = call.Header("text/event-stream", o.Header)
	if key != "" {
		m.header.Set("Authorization", "Bearer "+key)
	}
	return m, nil
}

// Info describes the model.
func (m *adapter) Info() model.Info { return m.info }
