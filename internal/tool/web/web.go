package web

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
	"github.com/holdfast-dev/holdfast/tool"
)

// Options configure [New].
type Options struct {
	// Layers are the network rules; each must allow a host. By default, every name that resolves to
	// a public address is allowed. A layer that asks allows every host that the guard has allowed.
	Layers []egress.Layer
	// Searcher implements WebSearch; if nil, the tool is not offered.
	Searcher Searcher
	// Summarise answers the prompt of a WebFetch from the page's text. If nil, the model gets the text
	// itself.
	Summarise func(ctx context.Context, prompt, text string) (string, error)
	// Environ is searched for HTTPS_PROXY, HTTP_PROXY and NO_PROXY; nil: no proxy. If the proxy is
	// invalid, nothing is fetched.
	Environ []string

	// UserAgent is sent to sites; default "holdfast".
	UserAgent string
	// TLS configures the verification of servers; nil means the default.
	TLS *tls.Config
	// Resolve returns the addresses of a name. Default: the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to a checked address or to a proxy. Default: [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Now is the clock of the cache; default [time.Now].
	Now func() time.Time
}

// Web has the two tools and a cache of the pages of the last 15 minutes. It is for one session, and
// is safe for concurrent use.
type Web struct {
	o         Options
	transport *transport
	cache     cache
	tools     []tool.Tool
}

// New returns the tools. It does not connect. The error names an invalid entry of Layers.
func New(o *Options) (*Web, error) {
	w := &Web{}
	if o != nil {
		w.o = *o
	}
	if w.o.Now == nil {
		w.o.Now = time.Now
	}
	if w.o.UserAgent == "" {
		w.o.UserAgent = "holdfast"
	}
	if len(w.o.Layers) == 0 {
		w.o.Layers = []egress.Layer{{Allow: []string{"*"}}}
	}
	var err error
	if w.transport, err = newTransport(&w.o); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	w.cache.now = w.o.Now
	t, err := w.newFetchTool()
	if err != nil {
		return nil, err
	}
	w.tools = []tool.Tool{t}
	if w.o.Searcher == nil {
		return w, nil
	}
	if t, err = w.newSearchTool(); err != nil {
		return nil, err
	}
	w.tools = append(w.tools, t)
	return w, nil
}

// Tools returns WebFetch. If there is a searcher, it also returns WebSearch.
func (w *Web) Tools() []tool.Tool { return w.tools }
