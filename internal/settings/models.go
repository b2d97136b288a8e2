package settings

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
)

// Models says which models are used, where their providers are, the time limits and the prices.
// Values that are not set are zero.
type Models struct {
	Model, Small  Value[string]        // PROVIDER/MODEL
	Retries       Value[*int]          // number of attempts after the first one of a model call; nil if not set
	MaxRetryAfter Value[time.Duration] // the longest wait that a provider may request
	Providers     map[string]Provider  // providers by name; "*" means all other providers
	Prices        map[string]Price     // prices by PROVIDER/MODEL, or PROVIDER/* for a provider's other models
}

// Price is the price of a model.
type Price struct {
	Price    *model.Price // nil: Reported
	Reported bool         // the provider's responses contain the cost
	Origin   policy.Origin
}

// Timeouts returns the time limits of a provider.
func (m *Models) Timeouts(provider string) model.Timeouts {
	one, all := m.Providers[provider], m.Providers["*"]
	prefer(&one.Connect, all.Connect)
	prefer(&one.FirstByte, all.FirstByte)
	prefer(&one.Idle, all.Idle)
	return model.Timeouts{Connect: one.Connect.Value, FirstByte: one.FirstByte.Value, Idle: one.Idle.Value}
}

// PriceOf returns the configured price of a model.
func (m *Models) PriceOf(provider, name string) (Price, bool) {
	if p, ok := m.Prices[provider+"/"+name]; ok {
		return p, true
	}
	p, ok := m.Prices[provider+"/*"]
	return p, ok
}

// requireUserLayer reports whether the layer may set path, and rejects it in the settings of a project:
// a cloned repository must not choose where keys are sent, what is paid, or which denials are read.
func (s *parsedSource) requireUserLayer(path string, n jsontree.Node) bool {
	if !isFolderLayer(s.layer) {
		return true
	}
	s.fault(n.At, "move it into settings.json of HOLDFAST_HOME", "%s: only user settings, flags and managed settings can set this", path)
	return false
}

// retryBlock decodes retry.
func (s *parsedSource) retryBlock(path string, n jsontree.Node) {
	if !s.requireUserLayer(path, n) {
		return
	}
	var count Value[int]
	s.object(path, n, map[string]func(string, jsontree.Node){
		"max":           s.number(&count, 0, "attempts after the first, such as 3"),
		"maxRetryAfter": s.duration(&s.models.MaxRetryAfter),
	})
	if count.Origin != (policy.Origin{}) {
		s.models.Retries = Value[*int]{&count.Value, count.Origin}
	}
}

func (s *parsedSource) duration(into *Value[time.Duration]) func(string, jsontree.Node) {
	return func(path string, n jsontree.Node) {
		text, ok := s.text(path, n)
		if !ok {
			return
		}
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			s.fault(n.At, `write a time such as "90s" or "10m"`, "%s: %q is not a time to wait", path, text)
			return
		}
		*into = Value[time.Duration]{d, s.origin(n, text)}
	}
}

const priceHint = `write {"input": 3, "output": 15} in US dollars per million tokens, with cacheRead and cacheWrite where they differ from input, or "reported" where the provider's answers say what they cost`

// pricesBlock decodes prices.
func (s *parsedSource) pricesBlock(path string, n jsontree.Node) {
	if !s.requireUserLayer(path, n) || !s.want(path, n, jsontree.Object) {
		return
	}
	s.models.Prices = map[string]Price{}
	for _, m := range n.Members {
		at := fmt.Sprintf("%s[%q]", path, m.Key)
		if provider, name, ok := strings.Cut(m.Key, "/"); !ok || provider == "" || name == "" {
			s.fault(m.At, "write PROVIDER/MODEL, or PROVIDER/* for all others of a provider", "%s: invalid model name", at)
			continue
		}
		if p, ok := s.price(at, m.Value); ok {
			s.models.Prices[m.Key] = p
		}
	}
}

func (s *parsedSource) price(at string, n jsontree.Node) (Price, bool) {
	out := Price{Origin: s.origin(n, at)}
	if n.Kind == jsontree.Text && n.Text == "reported" {
		out.Reported = true
		return out, true
	}
	if n.Kind != jsontree.Object {
		s.fault(n.At, priceHint, "%s: invalid price", at)
		return out, false
	}
	var input, output, read, write *float64
	fine := true
	amount := func(into **float64) func(string, jsontree.Node) {
		return func(path string, n jsontree.Node) {
			usd, err := strconv.ParseFloat(n.Text, 64)
			if n.Kind != jsontree.Number || err != nil || usd < 0 || math.IsInf(usd, 0) {
				s.fault(n.At, priceHint, "%s: invalid price", path)
				fine = false
				return
			}
			*into = &usd
		}
	}
	s.object(at, n, map[string]func(string, jsontree.Node){
		"input": amount(&input), "output": amount(&output), "cacheRead": amount(&read), "cacheWrite": amount(&write),
	})
	if fine && (input == nil || output == nil) {
		s.fault(n.At, priceHint, "%s needs input and output", at)
		fine = false
	}
	if !fine {
		return out, false
	}
	if read == nil {
		read = input
	}
	if write == nil {
		write = input
	}
	out.Price = &model.Price{Input: *input, Output: *output, CacheRead: *read, CacheWrite: *write}
	return out, true
}

// addModels takes each key from the strongest layer that sets it. A folder can only set the models'
// names.
func (m *merger) addModels(s *parsedSource) {
	out := &m.out.Models
	if s.untrusted {
		for key, v := range map[string]Value[string]{"model": s.models.Model, "smallModel": s.models.Small} {
			if v.Value != "" {
				m.ignore(key+" "+v.Value, v.Origin)
			}
		}
		return
	}
	prefer(&out.Model, s.models.Model)
	prefer(&out.Small, s.models.Small)
	prefer(&out.Retries, s.models.Retries)
	prefer(&out.MaxRetryAfter, s.models.MaxRetryAfter)
	for name, p := range s.models.Providers {
		if out.Providers == nil {
			out.Providers = map[string]Provider{}
		}
		merged := out.Providers[name]
		merged.fill(&p)
		out.Providers[name] = merged
	}
	for name, p := range s.models.Prices {
		if out.Prices == nil {
			out.Prices = map[string]Price{}
		}
		if _, known := out.Prices[name]; !known {
			out.Prices[name] = p
		}
	}
}
