package web

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/listen"
	"github.com/holdfast-dev/holdfast/internal/sandbox/egress"
)

// transport sends requests. Each request goes through its own egress proxy in this process.
//
//	http.Transport ─► pipe ─► egress.Proxy: rules, addresses ─► site, or HTTPS_PROXY
type transport struct {
	o       *Options
	rules   *egress.Rules
	proxies proxies
	broken  error // the proxy settings of the environment are invalid; no request is sent then, because none may bypass the proxy
}

func newTransport(o *Options) (*transport, error) {
	rules, err := egress.Compile(o.Layers...)
	if err != nil {
		return nil, err
	}
	w := &transport{o: o, rules: rules}
	w.proxies, w.broken = proxiesOf(o.Environ)
	return w, nil
}

// open sends requests until done is called. refused returns why a request was refused.
func (w *transport) open(ctx context.Context, u *url.URL) (t *http.Transport, refused func() string, done func(), err error) {
	if w.broken != nil {
		return nil, nil, nil, w.broken
	}
	eo := &egress.Options{
		Ask:     func(_ context.Context, _ string, _ int, address string) (bool, error) { return address == "", nil }, // the guard has already checked the name
		Resolve: w.o.Resolve, Dial: w.o.Dial,
	}
	if via := w.proxies.proxyFor(u); via != nil {
		dial := w.o.Dial
		if dial == nil {
			dial = (&net.Dialer{}).DialContext
		}
		// The proxy of the user always has the same address, independent of the port of the
		// request.
		eo.HTTPUpstream = 1
		eo.Dial = func(ctx context.Context, network, _ string) (net.Conn, error) { return dial(ctx, network, via.Host) }
	}
	proxy, err := egress.New(w.rules, eo)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	session, inside := &egress.Session{ID: "WebFetch"}, listen.NewPipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = proxy.Serve(ctx, inside, session) // ends with ctx
	}()
	t = &http.Transport{
		Proxy:       http.ProxyURL(&url.URL{Scheme: "http", Host: "egress.invalid:80"}),
		DialContext: inside.Dial,
		// The egress proxy does the lookups and connections; its own response is immediate.
		DisableKeepAlives: true, TLSHandshakeTimeout: 15 * time.Second, ResponseHeaderTimeout: 30 * time.Second,
		MaxResponseHeaderBytes: 64 << 10, ForceAttemptHTTP2: false,
	}
	if w.o.TLS != nil {
		t.TLSClientConfig = w.o.TLS.Clone()
	}
	refused = func() string {
		if list := session.Refusals(); len(list) > 0 {
			return strings.TrimSpace(strings.Replace(list[0].Text(), "the sandbox refused", "refused:", 1))
		}
		return ""
	}
	return t, refused, func() { t.CloseIdleConnections(); cancel(); <-ended }, nil
}

// proxies returns the proxies of the environment.
type proxies struct {
	http, https *url.URL
	no          []string
}

func proxiesOf(environ []string) (p proxies, err error) {
	get := func(name string) string {
		for _, list := range []string{strings.ToLower(name), name} {
			for _, e := range environ {
				if v, ok := strings.CutPrefix(e, list+"="); ok && v != "" {
					return v
				}
			}
		}
		return ""
	}
	if p.http, err = proxyURL("HTTP_PROXY", get("HTTP_PROXY")); err != nil {
		return p, err
	}
	if p.https, err = proxyURL("HTTPS_PROXY", get("HTTPS_PROXY")); err != nil {
		return p, err
	}
	for entry := range strings.SplitSeq(get("NO_PROXY"), ",") {
		if entry = strings.ToLower(strings.TrimSpace(entry)); entry != "" {
			p.no = append(p.no, entry)
		}
	}
	return p, nil
}

var errProxy = errors.New("want http://HOST:PORT, without a user name and password")

func proxyURL(name, text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" || u.User != nil || u.Hostname() == "" {
		return nil, fmt.Errorf("%s: %w", name, errProxy) // the error may contain a password
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), "80")
	}
	return u, nil
}

// proxyFor returns the proxy for a URL, or nil.
func (p *proxies) proxyFor(u *url.URL) *url.URL {
	host := strings.ToLower(u.Hostname())
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	for _, entry := range p.no {
		name := strings.TrimPrefix(strings.TrimPrefix(entry, "*"), ".")
		if entry == "*" || host == name || strings.HasSuffix(host, "."+name) {
			return nil
		}
	}
	if u.Scheme == "https" {
		return p.https
	}
	return p.http
}
