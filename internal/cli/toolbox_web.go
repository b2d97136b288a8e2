package cli

import (
	"cmp"

	"github.com/holdfast-dev/holdfast/settings"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/tool/web"
)

// The environment's variables about the search engine.
const (
	envSearchKey = "BRAVE_SEARCH_API_KEY"
	envSearchURL = "HOLDFAST_SEARCH_URL"
)

// webKit fetches pages, and searches where there is a key. What it connects to the lists
// of the sandbox let through, where there are some. In a container the network is that of
// the container, which is for its commands.
func (b *toolbox) webKit() ([]tool.Tool, error) {
	if b.flags != nil && b.flags.contained {
		return nil, nil
	}
	o := &web.Options{}
	if b.held.box != nil {
		o.Layers = b.held.box.Merged().Hosts
	}
	if b.program != nil {
		o.Environ = b.program.Env
		engine, err := b.searchEngine()
		if err != nil {
			return nil, err
		}
		if engine != nil {
			o.Searcher = engine
		}
	}
	w, err := web.New(o)
	if err != nil {
		return nil, err
	}
	return w.Tools(), nil
}

// searchEngine is what settings say about the engine, and the environment where they say
// nothing; nil without a key.
func (b *toolbox) searchEngine() (*web.Brave, error) {
	said := settings.WebSearch{}
	if b.settings != nil {
		said = b.settings.WebSearch
	}
	name := cmp.Or(said.KeyEnv.Value, envSearchKey)
	key := b.program.env(name)
	if key == "" || said.Engine.Value == "none" {
		return nil, nil
	}
	engine, err := web.NewBrave(key, cmp.Or(said.URL.Value, b.program.env(envSearchURL)))
	if err != nil {
		return nil, usage(name+" or the engine's address: "+err.Error(), "unset it, or look at webSearch in the settings and at "+envSearchURL)
	}
	return engine, nil
}
