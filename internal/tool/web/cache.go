package web

import (
	"sync"
	"time"
)

// Limits of the cache.
const (
	keepFor   = 15 * time.Minute
	keepBytes = 16 << 20
)

// cache stores pages by URL.
type cache struct {
	now func() time.Time

	mu    sync.Mutex
	pages map[string]cachedPage
	bytes int
}

type cachedPage struct {
	*page
	at time.Time
}

func (c *cache) get(u string) (*page, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.pages[u]
	if !ok || c.now().Sub(k.at) >= keepFor {
		return nil, false
	}
	return k.page, true
}

// put stores a page. Failures are not cached.
func (c *cache) put(u string, p *page) {
	if p.status >= 400 || len(p.text) > keepBytes {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pages == nil {
		c.pages = map[string]cachedPage{}
	}
	c.drop(u)
	for c.bytes+len(p.text) > keepBytes {
		oldest := ""
		for u, k := range c.pages {
			if oldest == "" || k.at.Before(c.pages[oldest].at) {
				oldest = u
			}
		}
		c.drop(oldest)
	}
	for u, k := range c.pages {
		if c.now().Sub(k.at) >= keepFor {
			c.drop(u)
		}
	}
	c.pages[u] = cachedPage{p, c.now()}
	c.bytes += len(p.text)
}

func (c *cache) drop(u string) {
	if k, ok := c.pages[u]; ok {
		c.bytes -= len(k.text)
		delete(c.pages, u)
	}
}
