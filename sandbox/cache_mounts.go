package sandbox

import (
	"maps"
	"path"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/sandbox/caches"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
)

// cacheMounts are the user's stores that commands see replaced by the stores of their caches.
func (c *compiler) cacheMounts() []kernel.CacheMount {
	if c.caches == "" {
		return nil
	}
	var out []kernel.CacheMount
	stores := caches.Stores(c.home)
	for _, name := range slices.Sorted(maps.Keys(stores)) {
		store := stores[name]
		own := path.Join(c.caches, name)
		c.watchKind(store)
		c.watchKind(own)
		if now, err := realpath.Resolve(store); err != nil || now != store || !isDir(store) || !isDir(own) {
			continue
		}
		touches := func(at string) bool { return within(store, at) || within(at, store) }
		if slices.ContainsFunc(slices.Concat(c.policy.Hide, c.policy.Write, privateFolders), touches) || !c.isVisible(store, c.read) {
			continue
		}
		out = append(out, kernel.CacheMount{Path: store, Folder: name})
	}
	return out
}
