package call

import (
	"bytes"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/model"
)

// HeadCache caches the encoded system texts and tool lists of a model's last requests. It has space
// for those of the main loop and of a few sub-agents. The zero value is ready to use. It is safe
// for concurrent use.
type HeadCache struct {
	mu   sync.Mutex
	kept []head // the latest first
}

type head struct {
	system string
	tools  []model.ToolSpec
	json   []byte
}

const maxHeads = 8

// Get returns the result of encode for the request's system text and tools, from the cache if possible.
// The caller must not change it.
func (h *HeadCache) Get(req *model.Request, encode func(*model.Request) []byte) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	i := slices.IndexFunc(h.kept, func(k head) bool { return k.fits(req) })
	if i < 0 {
		k := head{system: req.System, tools: slices.Clone(req.Tools), json: encode(req)}
		for t := range k.tools {
			k.tools[t].Input = bytes.Clone(k.tools[t].Input)
		}
		h.kept = append([]head{k}, h.kept[:min(len(h.kept), maxHeads-1)]...)
		return k.json
	}
	k := h.kept[i]
	copy(h.kept[1:i+1], h.kept[:i])
	h.kept[0] = k
	return k.json
}

func (k head) fits(req *model.Request) bool {
	return k.system == req.System && slices.EqualFunc(k.tools, req.Tools, func(a, b model.ToolSpec) bool {
		return a.Name == b.Name && a.Description == b.Description && bytes.Equal(a.Input, b.Input)
	})
}
