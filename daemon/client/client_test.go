package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// onSocket serves on a unix socket.
func onSocket(t *testing.T, path string, h http.Handler) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = s.Serve(l) // ends with Close
	}()
	t.Cleanup(func() {
		_ = s.Close()
		<-done
	})
}

func home(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "hf") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// known returns a daemon that describes itself, with further handlers.
func known(more map[string]http.HandlerFunc) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/info", func(w http.ResponseWriter, _ *http.Request) {
		partialAnswer(w, api.Info{Version: "1.2.3", API: "v1", Protocol: 1, Store: "memory:", Caller: api.Caller{Name: "ann", AuthMethod: "unix"}})
	})
	for route, h := range more {
		mux.HandleFunc(route, h)
	}
	return mux
}

func partialAnswer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

func vars(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// Dial finds a daemon by its home, its socket, or its address.
func TestDial(t *testing.T) {
	dir := home(t)
	sock := filepath.Join(dir, "run", "daemon.sock")
	onSocket(t, sock, known(nil))
	far := home(t)
	if err := os.MkdirAll(filepath.Join(far, "run"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(far, "run", "daemon.json"), fmt.Appendf(nil, `{"socket": %q}`, sock), 0o600); err != nil {
		t.Fatal(err)
	}
	var token string
	tcp := httptest.NewServer(known(map[string]http.HandlerFunc{"GET /health": func(w http.ResponseWriter, r *http.Request) {
		token = r.Header.Get("Authorization")
		partialAnswer(w, api.Health{Status: "ok"})
	}}))
	defer tcp.Close()
	for name, o := range map[string]*client.Options{
		"home":               {Home: dir},
		"socket":             {Socket: sock},
		"HOLDFAST_HOME":      {Getenv: vars("HOLDFAST_HOME", dir)},
		"socket elsewhere":   {Home: far},
		"address":            {URL: tcp.URL, Token: "hf_x"},
		"address, variables": {Getenv: vars("HOLDFAST_DAEMON_URL", tcp.URL+"/", "HOLDFAST_DAEMON_TOKEN", "hf_x")},
	} {
		c, err := client.Dial(t.Context(), o)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.Info().Version != "1.2.3" || c.Info().Caller.Name != "ann" || c.Local() == strings.HasPrefix(name, "address") {
			t.Errorf("%s: %+v, local %v", name, c.Info(), c.Local())
		}
		if !c.Local() {
			if _, err := c.Health(t.Context()); err != nil || token != "Bearer hf_x" {
				t.Errorf("%s: token %q, %v", name, token, err)
			}
		}
		c.Close()
	}
}

// If no daemon is running, or it cannot be used, the error says which.
func TestDialErrors(t *testing.T) {
	dead := filepath.Join(home(t), "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: dead, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	other := home(t)
	onSocket(t, filepath.Join(other, "run", "daemon.sock"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		partialAnswer(w, api.Info{Version: "9", Protocol: 2})
	}))
	shut := home(t)
	onSocket(t, filepath.Join(shut, "run", "daemon.sock"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "not you", http.StatusForbidden)
	}))
	none := func(err error) bool { return errors.Is(err, client.ErrNoDaemon) }
	problem := func(err error) bool { _, ok := errors.AsType[*api.Problem](err); return ok }
	for name, tt := range map[string]struct {
		o    *client.Options
		want func(error) bool
	}{
		"nothing":     {&client.Options{Home: home(t)}, none},
		"no home":     {&client.Options{Getenv: vars()}, none},
		"no listener": {&client.Options{Socket: dead}, none},
		"no folder":   {&client.Options{Socket: dead + "/x"}, none},
		"another version": {&client.Options{Home: other}, func(err error) bool {
			e, ok := errors.AsType[*client.VersionError](err)
			return ok && e.Protocol == 2 && e.Hint() != ""
		}},
		"not let in": {&client.Options{Home: shut}, func(err error) bool {
			p, ok := errors.AsType[*api.Problem](err)
			return ok && p.Status == 403 && p.Error() == "not you"
		}},
		"no address": {&client.Options{URL: "ftp://x"}, problem},
		"no token":   {&client.Options{URL: "http://127.0.0.1:1", Getenv: vars()}, problem},
		"no TLS":     {&client.Options{URL: "http://example.org", Token: "hf_x"}, problem},
		"no daemon":  {&client.Options{URL: "http://127.0.0.1:1", Token: "hf_x"}, func(err error) bool { _, ok := errors.AsType[*client.Error](err); return ok }},
	} {
		c, err := client.Dial(t.Context(), tt.o)
		if c != nil || !tt.want(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A problem keeps its code, its hint and the winner.
func TestProblem(t *testing.T) {
	dir := home(t)
	onSocket(t, filepath.Join(dir, "run", "daemon.sock"), known(map[string]http.HandlerFunc{
		"POST /v1/approvals/{id}/decision": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusConflict)
			_, _ = fmt.Fprintf(w, `{"status": 409, "code": "approval", "detail": "%s was answered", "hint": "look", "winner": {"id": "q", "decision": "deny", "by": "bob"}}`, r.PathValue("id"))
		},
		"GET /v1/sessions/{id}": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"status": 404, "code": "not_found", "detail": "no such session"}`))
		},
		"GET /v1/doctor": func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusBadGateway) },
		"GET /v1/tokens": func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("{")) },
		"GET /v1/login/link": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.org", http.StatusFound)
		},
	}))
	c, err := client.Dial(t.Context(), &client.Options{Home: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Decide(t.Context(), "a/b c", api.Decision{Decision: approval.Allow})
	p, ok := errors.AsType[*api.Problem](err)
	if !ok || p.Winner == nil || p.Winner.Actor != "bob" || p.Hint() != "look" || p.Error() != "a/b c was answered" ||
		!errors.Is(err, approval.ErrAnswered) || outcome.FromError(err) != outcome.Approval {
		t.Errorf("%#v", err)
	}
	if _, err := c.Session(t.Context(), "s"); outcome.FromError(err) != outcome.NotFound || errors.Is(err, approval.ErrAnswered) {
		t.Errorf("%v", err)
	}
	if _, err := c.Doctor(t.Context()); err == nil || outcome.FromError(err) != outcome.Failed || err.Error() == "" {
		t.Errorf("%v", err)
	}
	if _, err := c.Tokens(t.Context()); err == nil || !strings.Contains(err.Error(), "cannot decode") || outcome.Hint(err) == "" {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Session(ctx, "s"); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
