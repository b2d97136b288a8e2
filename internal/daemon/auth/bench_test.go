package auth

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
)

func withLocal(r *http.Request, addr net.Addr) context.Context {
	return context.WithValue(r.Context(), http.LocalAddrContextKey, addr)
}

// BenchmarkToken measures a request with a token: the first and the last of few and of many tokens.
func BenchmarkToken(b *testing.B) {
	for _, n := range []int{1, 100} {
		a, err := New(&Options{Dir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		var secrets []string
		for range n {
			s, _, err := a.CreateToken(context.Background(), Caller{Name: "ann", Method: "cli"}, api.Token{Name: "n", Scopes: []api.Scope{api.ScopeRead}})
			if err != nil {
				b.Fatal(err)
			}
			secrets = append(secrets, s)
		}
		h := a.Handler(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		for name, s := range map[string]string{"first": secrets[0], "last": secrets[n-1]} {
			b.Run(fmt.Sprintf("%d/%s", n, name), func(b *testing.B) {
				r := httptest.NewRequest(http.MethodGet, "/v1/x", nil)
				r = r.WithContext(withLocal(r, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}))
				r.Host = "localhost"
				r.Header.Set("Authorization", "Bearer "+s)
				for b.Loop() {
					h.ServeHTTP(httptest.NewRecorder(), r)
				}
			})
		}
	}
}

// BenchmarkConnContext measures the identification of a connection's peer.
func BenchmarkConnContext(b *testing.B) {
	a, err := New(&Options{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "a")
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for _, addr := range []string{filepath.Join(dir, "s"), "127.0.0.1:0"} {
		network := "tcp"
		if addr[0] == '/' {
			network = "unix"
		}
		l, err := net.Listen(network, addr)
		if err != nil {
			b.Fatal(err)
		}
		client, err := net.Dial(network, l.Addr().String())
		if err != nil {
			b.Fatal(err)
		}
		server, err := l.Accept()
		if err != nil {
			b.Fatal(err)
		}
		b.Run(network, func(b *testing.B) {
			for b.Loop() {
				p, _ := a.ConnContext(context.Background(), server).Value(peerKey{}).(*peer)
				p.agent()
			}
		})
		client.Close()
		server.Close()
		l.Close()
	}
}
