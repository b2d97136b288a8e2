package cli

import (
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
	if p := b.program; p != nil {
		o.Environ = p.Env
		if key := p.env(envSearchKey); key != "" {
			engine, err := web.NewBrave(key, p.env(envSearchURL))
			if err != nil {
				return nil, usage(envSearchKey+" or "+envSearchURL+": "+err.Error(), "unset it")
			}
			o.Searcher = engine
		}
	}
	w, err := web.New(o)
	if err != nil {
		return nil, err
	}
	return w.Tools(), nil
}
