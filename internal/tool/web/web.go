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

// Options adjust [New].
type Options struct {
	// Layers are what may be connected to; each must allow a host. Default: every name
	// that leads to a public address. A layer that asks lets pass, here, what the guard
	// has let pass.
	Layers []egress.Layer
	// Searcher answers WebSearch; nil: it is not offered.
	Searcher Searcher
	// Summarise answers the prompt of a WebFetch from the page's text. Nil gives the
	// model the text itself.
	Summarise func(ctx context.Context, prompt, text string) (string, error)
	// Environ is where HTTPS_PROXY, HTTP_PROXY and NO_PROXY are looked up; nil: nowhere.
	// With a proxy there that cannot be used nothing is fetched.
	Environ []string

	// UserAgent is what sites are told; default "holdfast".
	UserAgent string
	// TLS is how servers are checked; nil is as usual.
	TLS *tls.Config
	// Resolve finds the addresses of a name. Default: the system's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to an address that was judged, or to a proxy. Default: [net.Dialer].
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Now is the clock of the cache; default [time.Now].
	Now func() time.Time
}

// Web is the two tools, with the pages that were fetched in the last 15 minutes. It is
// for one session, and safe for concurrent use.
type Web struct {
	o     Options
	way   *transport
	cache cache
	tools []tool.Tool
}

// New returns the tools. It connects to nothing. The error is an entry of Layers that
// cannot be read.
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
	if w.way, err = newWay(&w.o); err != nil {
		return nil, fmt.Errorf("web: %w", err)
	}
	w.cache.now = w.o.Now
	t, err := w.fetchTool()
	if err != nil {
		return nil, err
	}
	w.tools = []tool.Tool{t}
	if w.o.Searcher == nil {
		return w, nil
	}
	if t, err = w.searchTool(); err != nil {
		return nil, err
	}
	w.tools = append(w.tools, t)
	return w, nil
}

// Tools are WebFetch and, with a searcher, WebSearch.
func (w *Web) Tools() []tool.Tool { return w.tools }
