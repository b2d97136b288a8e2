package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/truncate"
)

// tokenSet contains the tokens for a server in their stored form: one file per URL, mode 0600.
type tokenSet struct {
	Version       int       `json:"version"`
	URL           string    `json:"url"`
	ClientID      string    `json:"client_id"`
	ClientSecret  string    `json:"client_secret,omitempty"`
	TokenURL      string    `json:"token_url"`
	AuthStyle     int       `json:"auth_style,omitempty"`
	Scopes        []string  `json:"scopes,omitempty"`
	MissingScopes []string  `json:"wanted,omitempty"` // scopes that a call lacked
	Access        string    `json:"access_token"`
	Refresh       string    `json:"refresh_token,omitempty"`
	Type          string    `json:"token_type,omitempty"`
	Expiry        time.Time `json:"expiry,omitzero"`
}

const tokenSetVersion = 1

func newTokenSet(at string, o *oauth2.Config, t *oauth2.Token) *tokenSet {
	return &tokenSet{
		Version: tokenSetVersion, URL: at, ClientID: o.ClientID, ClientSecret: o.ClientSecret, TokenURL: o.Endpoint.TokenURL,
		AuthStyle: int(o.Endpoint.AuthStyle), Scopes: o.Scopes, Access: t.AccessToken, Refresh: t.RefreshToken, Type: t.TokenType, Expiry: t.Expiry,
	}
}

func (g *tokenSet) token() *oauth2.Token {
	return &oauth2.Token{AccessToken: g.Access, RefreshToken: g.Refresh, TokenType: g.Type, Expiry: g.Expiry}
}

// tokenStore keeps the token set of one URL. In this process, it is used by only one goroutine at a
// time. Only one process at a time changes a token set. It reads the current one first, because some
// servers revoke a login if a token is renewed twice.
//
//	access ─► load ─► good? ─► it
//	                   └ no ─► lock ─► load ─► good? ─► it
//	                                            └ no ─► renew ─► write
type tokenStore struct {
	mu   sync.Mutex
	dir  string
	file string
	url  string

	challenge http.Header // the server's login challenge; nil if there was none
}

// lastChallenge returns the server's last login challenge, or nil.
func (s *tokenStore) lastChallenge() http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.challenge
}

// tokens returns the store for a URL. There is one for each URL.
func (c *Client) tokens(at string) *tokenStore {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stores == nil {
		c.stores = map[string]*tokenStore{}
	}
	if c.stores[at] == nil {
		sum := sha256.Sum256([]byte(at))
		c.stores[at] = &tokenStore{dir: c.o.Tokens, url: at, file: filepath.Join(c.o.Tokens, hex.EncodeToString(sum[:16])+".json")}
	}
	return c.stores[at]
}

// maxTokenFile is the maximum size of the file.
const maxTokenFile = 256 << 10

var errNoTokens = errors.New("no token")

// load reads the token set, or returns errNoTokens. It rejects a file that others can read.
func (s *tokenStore) load() (*tokenSet, error) {
	if s.dir == "" {
		return nil, errNoTokens
	}
	f, err := os.Open(s.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errNoTokens
	}
	if err != nil {
		return nil, fmt.Errorf("read the token: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !private(info) {
		return nil, fmt.Errorf("the token in %s is readable by other users and is not used", s.file)
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxTokenFile))
	if err != nil {
		return nil, fmt.Errorf("read the token: %w", err)
	}
	return decodeTokenSet(raw, s.url)
}

// decodeTokenSet parses a token set and checks that it belongs to the URL.
func decodeTokenSet(raw []byte, at string) (*tokenSet, error) {
	g := &tokenSet{}
	switch err := json.Unmarshal(raw, g); {
	case err != nil:
		return nil, errors.New("the stored token is invalid; log in again")
	case g.Version != tokenSetVersion:
		return nil, fmt.Errorf("the stored token has the unknown format %d", g.Version)
	case g.URL != at || g.Access == "" || strings.ContainsAny(g.Access, "\r\n"):
		return nil, errors.New("the stored token belongs to another server; log in again")
	}
	return g, nil
}

// lockTime is the maximum time to wait for other processes, which hold the lock while they renew a
// token.
const lockTime = 2 * time.Minute

// lock takes the lock of the token set, which other processes respect, until the returned function is
// called. On systems without file locks, it only has an effect in this process.
func (s *tokenStore) lock(ctx context.Context) (unlock func(), err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, lockTime, errors.New("another program holds the lock"))
	defer cancel()
	if unlock, err = diskfile.WaitLock(ctx, s.file+".lock"); err != nil {
		return nil, fmt.Errorf("lock the token: %w", err)
	}
	return unlock, nil
}

// save replaces the stored token set completely or not at all.
func (s *tokenStore) save(ctx context.Context, g *tokenSet) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	unlock, err := s.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	s.challenge = nil
	return s.write(g)
}

func (s *tokenStore) write(g *tokenSet) error {
	raw, err := json.MarshalIndent(g, "", "  ")
	if err != nil {
		return err
	}
	if err := diskfile.Write(s.file, append(raw, '\n')); err != nil {
		return fmt.Errorf("store the token: %w", err)
	}
	return nil
}

func (s *tokenStore) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return nil
	}
	if _, err := os.Lstat(s.file); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	unlock, err := s.lock(context.Background())
	if err != nil {
		return err
	}
	defer unlock()
	if err := os.Remove(s.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// recordChallenge stores the server's login challenge. It also stores which scopes are missing, for the next
// login.
func (s *tokenStore) recordChallenge(ctx context.Context, asked http.Header, scopes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.challenge = http.Header{"Www-Authenticate": asked.Values("WWW-Authenticate")}
	if _, err := s.load(); err != nil || len(scopes) == 0 || len(scopes) > 100 {
		return
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return
	}
	defer unlock()
	g, err := s.load()
	if err != nil {
		return
	}
	for _, scope := range scopes {
		if !slices.Contains(g.MissingScopes, scope) && len(g.MissingScopes) < 100 {
			g.MissingScopes = append(g.MissingScopes, scope)
		}
	}
	_ = s.write(g) // the next login requests fewer scopes
}

// renewBefore is the time before the expiry of a token at which the token is renewed.
const renewBefore = 30 * time.Second

// accessToken returns a valid token, or "" if there is none.
func (s *tokenStore) accessToken(ctx context.Context, client *http.Client) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, token, err := s.current()
	if old == nil {
		return token, err
	}
	unlock, err := s.lock(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	if old, token, err = s.current(); old == nil { // another goroutine was faster
		return token, err
	}
	return s.renew(ctx, client, old)
}

// current returns the token if it is valid, or "" if there is none. If the token must be renewed
// first, it returns the token set in old.
func (s *tokenStore) current() (old *tokenSet, token string, err error) {
	g, err := s.load()
	switch {
	case errors.Is(err, errNoTokens):
		return nil, "", nil
	case err != nil:
		return nil, "", err
	case g.Expiry.IsZero() || time.Until(g.Expiry) > renewBefore:
		return nil, g.Access, nil
	case g.Refresh == "":
		return nil, "", ErrNeedsAuth
	}
	return g, "", nil
}

// renew renews the token of a token set and stores it. The caller holds the lock.
func (s *tokenStore) renew(ctx context.Context, client *http.Client, g *tokenSet) (string, error) {
	o := oauth2.Config{
		ClientID: g.ClientID, ClientSecret: g.ClientSecret, Scopes: g.Scopes,
		Endpoint: oauth2.Endpoint{TokenURL: g.TokenURL, AuthStyle: oauth2.AuthStyle(g.AuthStyle)},
	}
	old := g.token()
	old.AccessToken = "" // force a renewal
	t, err := o.TokenSource(context.WithValue(ctx, oauth2.HTTPClient, client), old).Token()
	if err != nil {
		if e, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
			return "", fmt.Errorf("%w: the server did not renew the token (%s)", ErrNeedsAuth, truncate.String(oneLine(orElse(e.ErrorCode, http.StatusText(e.Response.StatusCode))), 100))
		}
		return "", fmt.Errorf("renew the token: %w", err)
	}
	fresh := newTokenSet(g.URL, &o, t)
	fresh.MissingScopes = g.MissingScopes
	fresh.Refresh = orElse(fresh.Refresh, g.Refresh)
	return fresh.Access, s.write(fresh)
}

// oauthTransport adds the token to requests and handles the server's response to it.
type oauthTransport struct {
	next          http.RoundTripper
	store         *tokenStore
	client        *http.Client // for renewing tokens
	loginRequired atomic.Bool  // login required: the connection makes no further attempts, for example with the older protocol
}

func (t *oauthTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if t.loginRequired.Load() {
		return nil, ErrNeedsAuth
	}
	token, err := t.store.accessToken(req.Context(), t.client)
	if err != nil {
		return nil, err
	}
	if token != "" {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized && token != "" {
		if again := t.withCurrentToken(req, token); again != nil { // another process has renewed the token in the meantime
			_ = resp.Body.Close()
			if resp, err = t.next.RoundTrip(again); err != nil {
				return nil, err
			}
		}
	}
	missing, scope := missingScopes(resp.Header)
	if resp.StatusCode != http.StatusUnauthorized && (resp.StatusCode != http.StatusForbidden || !scope) {
		return resp, nil
	}
	t.store.recordChallenge(req.Context(), resp.Header, missing)
	t.loginRequired.Store(true)
	_ = resp.Body.Close()
	return nil, ErrNeedsAuth
}

// withCurrentToken returns a rejected request with the token that is stored now. It returns nil if there is
// none, or if it is the rejected one.
func (t *oauthTransport) withCurrentToken(req *http.Request, refused string) *http.Request {
	token, err := t.store.accessToken(req.Context(), t.client)
	if err != nil || token == "" || token == refused {
		return nil
	}
	again := req.Clone(req.Context())
	if req.Body != nil && req.Body != http.NoBody {
		if req.GetBody == nil {
			return nil
		}
		if again.Body, err = req.GetBody(); err != nil {
			return nil
		}
	}
	again.Header.Set("Authorization", "Bearer "+token)
	return again
}

// missingScopes returns the scopes that the rejection of a request names.
func missingScopes(h http.Header) ([]string, bool) {
	list, err := oauthex.ParseWWWAuthenticate(h.Values("WWW-Authenticate"))
	if err != nil {
		return nil, false
	}
	for _, c := range list {
		if strings.EqualFold(c.Scheme, "bearer") && c.Params["error"] == "insufficient_scope" {
			return strings.Fields(c.Params["scope"]), true
		}
	}
	return nil, false
}
