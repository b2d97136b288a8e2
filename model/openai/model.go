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

// apiName names the wire in [transcript.Native].
const apiName = "openai-chat"

const (
	defaultProvider = "openai"
	defaultBaseURL  = "https://api.openai.com/v1/"
)

// Options are what can be set about a model. The zero value is ready to use,
// except that OpenAI itself wants a key. No environment variable is read, but
// for those that name a proxy, when HTTPClient is nil.
type Options struct {
	APIKey     string           // may be empty where the server asks for none
	BaseURL    string           // of another server, with its "/v1"
	Provider   string           // names the server in errors and finds prices; "": "openai"
	Header     http.Header      // more headers of each request; those that a call has anyway cannot be replaced
	HTTPClient *http.Client     // nil: http.DefaultClient; redirects are not followed
	MaxTokens  int              // of an answer when the request sets none; 0: the server's default
	Price      *model.Price     // nil: what is known of the model
	Reported   bool             // answers say what they cost, as those of OpenRouter do
	Context    int              // tokens the model can see; 0: what is known of the model
	Timeouts   model.Timeouts   // of a provider that says nothing
	Now        func() time.Time // nil: time.Now
}

// adapter is one model of a server. It is safe for concurrent use.
type adapter struct {
	info      model.Info
	maxTokens int
	official  bool // OpenAI itself: its newer names are known
	accounts  bool // OpenRouter: it says what an answer costs when it is asked
	keyless   bool // OpenAI itself, and no key
	client    *http.Client
	base      *url.URL
	address   string
	header    http.Header // of every request
	provider  call.Provider
	timeouts  model.Timeouts
	heads     call.HeadCache
}

// New returns the model of that name, such as "gpt-5.1". It does no I/O. Options
// may be nil.
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
	if err := call.KeyFault(key); err != nil {
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
	m.accounts = base.Hostname() == "openrouter.ai"
	m.info.Reported = o.Reported || m.accounts
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
