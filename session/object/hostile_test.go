package object_test

import (
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/object"
)

// Without a steal function, a lease is never taken over.
func TestAcquireWithoutSteal(t *testing.T) {
	s := open(t, newURL(t), nil)
	begin(t, s, "s", 1)
	if _, err := s.Acquire(ctx, "t", session.Lease{Holder: session.Holder{ID: "a"}}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Acquire(ctx, "t", session.Lease{Holder: session.Holder{ID: "b"}}, nil); !errors.Is(err, session.ErrBusy) {
		t.Errorf("a lease that is held: %v", err)
	}
}

// A store that is closed has no connections.
func TestCloseClosesConnections(t *testing.T) {
	at, err := url.Parse(newURL(t))
	if err != nil {
		t.Fatal(err)
	}
	q := at.Query()
	server, err := url.Parse(q.Get("endpoint"))
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	conns, closed := map[net.Conn]bool{}, make(chan bool, 1)
	front := httptest.NewUnstartedServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(server)
		r.Out.Host = r.In.Host // which is signed
	}})
	front.Config.ConnState = func(c net.Conn, state http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		conns[c] = state != http.StateClosed
		for _, open := range conns {
			if open {
				return
			}
		}
		select {
		case closed <- true:
		default:
		}
	}
	front.Start()
	defer front.Close()
	q.Set("endpoint", front.URL)
	at.RawQuery = q.Encode()
	s, err := object.Open(ctx, at.String(), nil)
	if err != nil {
		t.Fatal(err)
	}
	begin(t, s, "s", 1)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	<-closed
}
