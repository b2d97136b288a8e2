package hostpipe

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// remoteStore is a store behind a pipe, without limits.
type remoteStore struct {
	*Client
	sessions *session.Sessions
}

// connect serves sessions over a pipe until the test ends.
func connect(t testing.TB, sessions *session.Sessions, h Handler, free bool, o ServeOptions) (*Client, *Server) {
	t.Helper()
	inside, host := net.Pipe()
	s := newServer(host, sessions, o)
	s.unlimited = free
	ctx, stop := context.WithCancel(context.Background())
	var served sync.WaitGroup
	served.Go(func() { _ = s.Serve(ctx) })
	c := Dial(inside, h)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		stop()
		served.Wait()
	})
	return c, s
}

func TestStore(t *testing.T) {
	for _, tt := range []struct {
		name string
		open func(t testing.TB) session.Store
	}{
		{"memory", func(testing.TB) session.Store { return memory.New() }},
		{"sqlite", func(t testing.TB) session.Store {
			s, err := sqlite.Open(t.TempDir()+"/s.db", nil)
			if err != nil {
				t.Fatal(err)
			}
			return s
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			sessiontest.Run(t, func(t testing.TB) session.Store {
				store := tt.open(t)
				if c, ok := store.(io.Closer); ok {
					t.Cleanup(func() { _ = c.Close() })
				}
				sessions := session.New(store, nil)
				c, _ := connect(t, sessions, nil, true, ServeOptions{Session: "any"})
				return &remoteStore{c, sessions}
			}, sessiontest.Capabilities{
				Reopen: func(t testing.TB, s session.Store) session.Store {
					sessions := s.(*remoteStore).sessions
					c, _ := connect(t, sessions, nil, true, ServeOptions{Session: "any"})
					return &remoteStore{c, sessions}
				},
			})
		})
	}
}
