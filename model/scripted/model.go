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

// apiName names the wire in [transcript.Native].
const apiName = "scripted"

const provider = "scripted"

// Options are what can be set about a model. The zero value works.
type Options struct {
	// Record is called with every request before it is answered. It must be
	// safe for concurrent use when the model is used so.
	Record func(model.Request)
	// Sleep waits between deltas; nil waits for real.
	Sleep func(ctx context.Context, d time.Duration) error
	// Price returns the price of a model by its name, in place of the play's price; nil
	// leaves that in force.
	Price func(name string) *model.Price
}

// scriptedModel plays a [scriptFile].
type scriptedModel struct {
	script *script
	opts   Options

	mu     sync.Mutex
	failed map[string]int // how often, by step and request
}

// New returns a model that plays a play, given in its YAML form. Options may be nil. An
// error of the play names its line and column.
func New(yaml []byte, o *Options) (model.Model, error) { return newPlayer(yaml, "", o) }

// Load is [New] for a play in a file.
func Load(path string, o *Options) (model.Model, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("scripted: %w", err)
	}
	return newPlayer(b, path+":", o)
}

func newPlayer(yaml []byte, place string, o *Options) (model.Model, error) {
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

// Info describes the model as its play does.
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

// Encode gives an item's role and raw parts as a JSON object; parts of a host's
// own are left out. An answer of this model is sent as it came, with its step.
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
