package scripted

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/wait"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/transcript"
)

// apiName is the name of the API in [transcript.Native].
const apiName = "scripted"

const provider = "scripted"

// Options configure a model. The zero value is ready to use.
type Options struct {
	// Record is called with every request before the answer. If the model is used concurrently, it must be
	// safe for concurrent use.
	Record func(model.Request)
	// Sleep waits between deltas; nil waits in real time.
	Sleep func(ctx context.Context, d time.Duration) error
	// Price returns the price of a model by its name. A price that is not nil replaces the script's
	// price. If Price is nil, the script's price applies.
	Price func(name string) *model.Price
}

// scriptedModel answers from a [scriptFile].
type scriptedModel struct {
	script *script
	opts   Options

	mu     sync.Mutex
	failed map[string]int // number of failures by step and request
}

// New returns a model for a script in YAML. Options may be nil. An error in the script has its line and
// column.
func New(yaml []byte, o *Options) (model.Model, error) { return newModel(yaml, "", o) }

// Load is [New] for a script file.
func Load(path string, o *Options) (model.Model, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("scripted: %w", err)
	}
	return newModel(b, path+":", o)
}

func newModel(yaml []byte, place string, o *Options) (model.Model, error) {
	p, err := parse(yaml)
	if err != nil {
		return nil, fmt.Errorf("scripted: %s%w", place, err)
	}
	s, f := compile(p)
	if f != nil {
		return nil, fmt.Errorf("scripted: %s%w", place, f)
	}
	m := &scriptedModel{script: s, failed: map[string]int{}}
	if o != nil {
		m.opts = *o
	}
	if m.opts.Sleep == nil {
		m.opts.Sleep = wait.For
	}
	if m.opts.Price != nil {
		if price := m.opts.Price(s.Name); price != nil {
			s.Price = price
		}
	}
	return m, nil
}

// Info describes the model in the same way as its script.
func (m *scriptedModel) Info() model.Info {
	i := model.Info{
		Provider: provider, Model: m.script.Name, API: apiName,
		Context: m.script.Context, MaxOutput: m.script.MaxOutput,
	}
	if m.script.Price != nil {
		price := *m.script.Price
		i.Price = &price
	}
	return i
}

// Encode returns an item's role and parts as a JSON object, without custom parts, which only the
// host uses. An answer of this model is encoded unchanged, together with its step.
func (m *scriptedModel) Encode(item transcript.Encoded) (model.EncodedItem, error) {
	role := string(item.Role())
	if native := item.Native(apiName); len(native) > 0 {
		return model.EncodedItem{Role: role, JSON: native}, nil
	}
	b := make([]byte, 0, len(item.JSON))
	b = append(b, `{"role":"`...)
	b = append(b, role...)
	b = append(b, `","parts":[`...)
	none := len(b)
	for p := range item.Parts() {
		if p.Type() == "custom" {
			continue
		}
		if len(b) > none {
			b = append(b, ',')
		}
		b = append(b, p...)
	}
	if len(b) == none {
		return model.EncodedItem{}, nil
	}
	return model.EncodedItem{Role: role, JSON: append(b, "]}"...)}, nil
}
