package mcp

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/holdfast-dev/holdfast/internal/truncate"
)

// ErrNeedsAuth means that the user must log in to a server first; see [Client.Login].
var ErrNeedsAuth = errors.New("login required")

// Limits of a login.
const (
	loginTime    = 10 * time.Minute
	maxOAuthBody = 1 << 20
)

// Login logs the user in to a server with OAuth: show gets the URL to open, and the browser returns
// to this machine's loopback address (authorization code with PKCE). The tokens are stored in
// [Options].Tokens. Login returns when the browser has returned, when ctx ends, or after ten
// minutes.
//
// The server names the authorization server. The addresses of the authorization server must use
// https. If the MCP server is on this machine, they may also be on this machine, with or without
// https.
func (c *Client) Login(ctx context.Context, name string, show func(url string)) error {
	l, err := c.find(name)
	if err != nil {
		return err
	}
	s, err := l.server.Expand(variable(c.o.Environ))
	if err != nil {
		return err
	}
	if kind := s.kind(); kind != HTTP && kind != SSE {
		return s.newError("this server does not support login", "")
	}
	if hasHeader(s.Headers, "Authorization") {
		return s.newError("its definition has an Authorization header", "remove the header to log in")
	}
	if c.o.Tokens == "" {
		return s.newError("no folder to store tokens in", "set Tokens")
	}
	ctx, cancel := context.WithTimeout(ctx, loginTime)
	defer cancel()
	if err := l.login(ctx, &s, show); err != nil {
		return s.wrapError("login failed", err)
	}
	l.resetBackoff()
	return nil
}

// Logout deletes a server's tokens.
func (c *Client) Logout(name string) error {
	l, err := c.find(name)
	if err != nil {
		return err
	}
	s, err := l.server.Expand(variable(c.o.Environ))
	if err != nil {
		return err
	}
	return c.tokens(s.URL).remove()
}

func (l *serverLink) login(ctx context.Context, s *Server, show func(string)) error {
	c := l.c
	u, err := s.address()
	if err != nil {
		return err
	}
	back, err := newCallback(ctx, s.OAuth)
	if err != nil {
		return err
	}
	defer back.close()
	store := c.tokens(s.URL)
	before, _ := store.load() // nil, or the tokens that are being replaced
	client := c.oauthClient(u)
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL:         back.url,
		RequestRefreshToken: true,
		Client:              client,
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return back.wait(ctx, args.URL, show)
		},
		ScopeFilter: func(found []string) []string { return scopes(s.OAuth, before, found) },
		NewTokenSource: func(ctx context.Context, o *oauth2.Config, t *oauth2.Token) (oauth2.TokenSource, error) {
			return oauth2.StaticTokenSource(t), store.save(ctx, newTokenSet(s.URL, o, t))
		},
	}
	c.setClientIdentity(config, s.OAuth)
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return err
	}
	header, err := l.challenge(ctx, store, before)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), nil)
	if err != nil {
		return err
	}
	return handler.Authorize(ctx, req, &http.Response{StatusCode: http.StatusUnauthorized, Header: header, Body: http.NoBody})
}

// setClientIdentity sets the identity of this client for an authorization server: a client id that is
// already registered, the URL of a client metadata document, or a client id from dynamic
// registration.
func (c *Client) setClientIdentity(config *auth.AuthorizationCodeHandlerConfig, o *OAuth) {
	document := o != nil && o.ClientSecret == "" && strings.HasPrefix(o.ClientID, "https://")
	switch {
	case document:
		config.ClientIDMetadataDocumentConfig = &auth.ClientIDMetadataDocumentConfig{URL: o.ClientID}
	case o != nil && o.ClientID != "":
		config.PreregisteredClient = &oauthex.ClientCredentials{ClientID: o.ClientID}
		if o.ClientSecret != "" {
			config.PreregisteredClient.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: o.ClientSecret}
		}
		return
	}
	config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
		RedirectURIs: []string{config.RedirectURL}, ClientName: c.o.Name, TokenEndpointAuthMethod: "none",
		GrantTypes: []string{"authorization_code", "refresh_token"}, ResponseTypes: []string{"code"},
	}}
}

// challenge returns the server's login challenge. If there is none yet, it tries to connect once.
// If there is still none but the server has granted access before, the challenge is empty, so that
// the user logs in again.
func (l *serverLink) challenge(ctx context.Context, store *tokenStore, before *tokenSet) (http.Header, error) {
	if h := store.lastChallenge(); h != nil {
		return h, nil
	}
	l.resetBackoff()
	_, err := l.connection(ctx)
	switch h := store.lastChallenge(); {
	case h != nil:
		return h, nil
	case before != nil:
		return http.Header{}, nil
	case err != nil:
		return nil, err
	}
	return nil, errors.New("the server does not request a login")
}

// scopes returns the scopes to request. They come from the configuration or the server. Scopes that
// were granted or required before are added, so that a login never reduces access.
func scopes(o *OAuth, before *tokenSet, found []string) []string {
	list := found
	if o != nil && len(o.Scopes) > 0 {
		list = o.Scopes
	}
	list = slices.Clone(list)
	if before == nil {
		return list
	}
	for _, s := range slices.Concat(before.Scopes, before.MissingScopes) {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}

// oauthClient returns the HTTP client for metadata and tokens. It follows no redirects.
func (c *Client) oauthClient(server *url.URL) *http.Client {
	return &http.Client{
		Transport:     &safeTransport{next: c.transport(), local: isLoopback(server.Hostname())},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Timeout:       30 * time.Second,
	}
}

// safeTransport sends requests only to safe addresses.
type safeTransport struct {
	next  http.RoundTripper
	local bool // the server is on this machine
}

func (t *safeTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if err := checkURL(req.URL, t.local); err != nil {
		return nil, err
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &limitedBody{in: resp.Body, left: maxOAuthBody, close: func() {}}
	return resp, nil
}

// checkURL returns the reason why an address that a server names is not allowed.
func checkURL(u *url.URL, local bool) error {
	switch loop := isLoopback(u.Hostname()); {
	case u.Scheme == "https" && (!loop || local):
		return nil
	case u.Scheme == "http" && loop && local:
		return nil
	case loop:
		return fmt.Errorf("the address is on this machine, %s, but the server is not", u.Host)
	}
	return fmt.Errorf("the connection to %s would not be encrypted", u.Host)
}

// callback receives the request of the browser after a login.
type callback struct {
	url      string
	server   *http.Server
	state    chan string // the state of the current login
	results  chan *auth.AuthorizationResult
	failures chan error
}

func newCallback(ctx context.Context, o *OAuth) (*callback, error) {
	port := 0
	if o != nil {
		port = o.CallbackPort
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return nil, fmt.Errorf("listen for the browser after the login: %w", err)
	}
	b := &callback{
		url:   "http://" + l.Addr().String() + "/callback",
		state: make(chan string, 1), results: make(chan *auth.AuthorizationResult, 1), failures: make(chan error, 1),
	}
	b.server = &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second, MaxHeaderBytes: 32 << 10}
	go func() { _ = b.server.Serve(l) }() // until close
	return b, nil
}

func (b *callback) close() { _ = b.server.Close() }

// wait shows the login URL and waits for the browser.
func (b *callback) wait(ctx context.Context, to string, show func(string)) (*auth.AuthorizationResult, error) {
	u, err := url.Parse(to)
	if err != nil || shown(to) != to {
		return nil, errors.New("invalid login address")
	}
	if u.Scheme != "https" && (u.Scheme != "http" || !isLoopback(u.Hostname())) {
		return nil, fmt.Errorf("the login at %s would not be encrypted", u.Host)
	}
	b.state <- u.Query().Get("state")
	show(to)
	select {
	case r := <-b.results:
		return r, nil
	case err := <-b.failures:
		return nil, err
	case <-ctx.Done():
		return nil, fmt.Errorf("the login was not completed: %w", ctx.Err())
	}
}

// ServeHTTP handles the browser's request. It ignores a request whose state is not that of this
// login.
func (b *callback) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Security-Policy", "default-src 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	q := r.URL.Query()
	if r.Method != http.MethodGet || r.URL.Path != "/callback" || !b.expects(q.Get("state")) {
		http.Error(w, "This page does not belong to the current login.", http.StatusBadRequest)
		return
	}
	if why := q.Get("error"); why != "" {
		trySend(b.failures, fmt.Errorf("the server rejected the login: %s", truncate.String(oneLine(why+" "+q.Get("error_description")), 400)))
		fmt.Fprintln(w, "The login failed. You can close this window.")
		return
	}
	trySend(b.results, &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")})
	fmt.Fprintln(w, "You are logged in. You can close this window.")
}

func (b *callback) expects(state string) bool {
	select {
	case want := <-b.state:
		b.state <- want
		return state != "" && state == want
	default:
		return false
	}
}

// trySend sends a value, unless a value is already waiting.
func trySend[T any](c chan T, v T) {
	select {
	case c <- v:
	default:
	}
}
