package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
)

// rotatingServer is a server whose refresh tokens are good for one renewal: a second one with the
// same takes the whole login back. A new access token ends the one before.
type rotatingServer struct {
	*httpServer
	mu       sync.Mutex
	renewals int
	revoked  bool
	renewing func() // while it renews, or nil
}

func newRotatingServer(t *testing.T) *rotatingServer {
	r := &rotatingServer{}
	mcp := streamable(newServer())
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		ok := !r.revoked && req.Header.Get("Authorization") == fmt.Sprintf("Bearer access%d", r.renewals)
		r.mu.Unlock()
		if !ok {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		mcp.ServeHTTP(w, req)
	})
	mux.HandleFunc("/token", func(w http.ResponseWriter, req *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.renewing != nil {
			r.renewing()
		}
		w.Header().Set("Content-Type", "application/json")
		if r.revoked = r.revoked || req.FormValue("refresh_token") != fmt.Sprintf("refresh%d", r.renewals); r.revoked {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant"}`)
			return
		}
		r.renewals++
		_ = json.NewEncoder(w).Encode(map[string]any{
			"access_token": fmt.Sprintf("access%d", r.renewals), "refresh_token": fmt.Sprintf("refresh%d", r.renewals), "token_type": "Bearer", "expires_in": 3600,
		})
	})
	r.httpServer = newHTTPServer(t, mux)
	return r
}

// clientWithTokens stores tokens of the server, and returns a client for it.
func (r *rotatingServer) clientWithTokens(t *testing.T, tokens string, expires time.Duration) (*Client, *tokenStore) {
	t.Helper()
	c, _ := open(t, &Options{Tokens: tokens}, Server{Name: "web", URL: r.URL + "/mcp"})
	s := c.tokens(r.URL + "/mcp")
	g := &tokenSet{
		Version: tokenSetVersion, URL: s.url, ClientID: "c", TokenURL: r.URL + "/token", AuthStyle: 1,
		Access: "access0", Refresh: "refresh0", Expiry: time.Now().Add(expires),
	}
	if err := s.save(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	return c, s
}

// Several programs of one user find the token at its end at once: one of them renews it.
func TestATokenIsRenewedByOne(t *testing.T) {
	r := newRotatingServer(t)
	tokens := filepath.Join(t.TempDir(), "mcp")
	_, store := r.clientWithTokens(t, tokens, time.Second)
	r.renewing = func() {
		f, err := os.OpenFile(store.file+".lock", os.O_RDWR, 0)
		if err != nil {
			t.Errorf("renewed without a lock: %v", err)
			return
		}
		defer f.Close()
		if free, err := diskfile.TryLock(f); free || err != nil {
			t.Errorf("renewed while the lock is free: %v", err)
		}
	}
	begin := make(chan struct{})
	var all sync.WaitGroup
	for range 8 {
		c, _ := open(t, &Options{Tokens: tokens}, Server{Name: "web", URL: r.URL + "/mcp"})
		s := c.tokens(r.URL + "/mcp")
		all.Go(func() {
			<-begin
			if got, err := s.accessToken(t.Context(), http.DefaultClient); got != "access1" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
	close(begin)
	all.Wait()
	if r.renewals != 1 || r.revoked {
		t.Errorf("%d renewals, revoked %v", r.renewals, r.revoked)
	}
	if g, err := store.load(); err != nil || g.Refresh != "refresh1" {
		t.Errorf("kept: %+v, %v", g, err)
	}
}

// What has waited for the lock looks at what is kept by then.
func TestWaiterUsesRenewedToken(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(t *testing.T, s *tokenStore) // with the lock
		want, err string
	}{
		"renewed": {func(t *testing.T, s *tokenStore) {
			g, err := s.load()
			if err != nil {
				t.Fatal(err)
			}
			g.Access, g.Refresh, g.Expiry = "access7", "refresh7", time.Now().Add(time.Hour)
			if err := s.write(g); err != nil {
				t.Fatal(err)
			}
		}, "access7", ""},
		"logged out": {func(t *testing.T, s *tokenStore) {
			if err := os.Remove(s.file); err != nil {
				t.Fatal(err)
			}
		}, "", ""},
		"spoiled": {func(t *testing.T, s *tokenStore) {
			if err := os.WriteFile(s.file, []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}, "", "log in again"},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRotatingServer(t)
			tokens := filepath.Join(t.TempDir(), "mcp")
			_, s := r.clientWithTokens(t, tokens, time.Second)
			unlock, err := s.lock(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			other, _ := open(t, &Options{Tokens: tokens}, Server{Name: "web", URL: r.URL + "/mcp"})
			var got string
			done := make(chan error, 1)
			go func() {
				var err error
				got, err = other.tokens(s.url).accessToken(t.Context(), http.DefaultClient)
				done <- err
			}()
			c.meanwhile(t, s)
			unlock()
			err = <-done
			if got != c.want || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
				t.Errorf("got %q, %v", got, err)
			}
			if r.renewals != 0 || r.revoked {
				t.Errorf("%d renewals, revoked %v", r.renewals, r.revoked)
			}
		})
	}
}

// A token that is refused because another program has renewed it meanwhile is not the end
// of the login; one that is refused though it is the one that is kept is.
func TestARefusedTokenIsLookedAtAgain(t *testing.T) {
	for name, c := range map[string]struct {
		renewed bool
		sent    []string
		err     error
	}{
		"renewed":  {true, []string{"Bearer access0 ping", "Bearer access1 ping"}, nil},
		"the same": {false, []string{"Bearer access0 ping"}, ErrNeedsAuth},
	} {
		t.Run(name, func(t *testing.T) {
			_, s := newRotatingServer(t).clientWithTokens(t, filepath.Join(t.TempDir(), "mcp"), time.Hour)
			var sent []string
			tr := &oauthTransport{store: s, client: http.DefaultClient, next: roundTrip(func(req *http.Request) (*http.Response, error) {
				body, err := io.ReadAll(req.Body)
				sent = append(sent, req.Header.Get("Authorization")+" "+string(body))
				if len(sent) > 1 || err != nil {
					return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, err
				}
				g, err := s.load()
				if err == nil && c.renewed {
					g.Access, g.Refresh = "access1", "refresh1"
					err = s.write(g)
				}
				return &http.Response{StatusCode: http.StatusUnauthorized, Body: http.NoBody}, err
			})}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url, strings.NewReader("ping"))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := tr.RoundTrip(req)
			if err == nil {
				resp.Body.Close()
			}
			if !errors.Is(err, c.err) || !slices.Equal(sent, c.sent) {
				t.Errorf("sent %q, %v", sent, err)
			}
		})
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
