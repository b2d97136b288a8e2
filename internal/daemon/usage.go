package daemon

import (
	"net"
	"net/http"
	"sync"
	"time"
)

// usage records when connections used the server. The zero value was never used.
type usage struct {
	mu   sync.Mutex
	open int
	last time.Time
}

// connState counts the connections, and passes them to the limit.
func (s *Server) connState(limit *connLimit) func(net.Conn, http.ConnState) {
	s.conns.touch()
	return func(c net.Conn, state http.ConnState) {
		s.conns.state(state)
		limit.state(c, state)
	}
}

func (u *usage) state(state http.ConnState) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last = time.Now()
	switch state {
	case http.StateNew:
		u.open++
	case http.StateClosed, http.StateHijacked:
		u.open--
	case http.StateActive, http.StateIdle:
	}
}

func (u *usage) touch() {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.last = time.Now()
}

func (u *usage) unused() time.Duration {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.open > 0 {
		return 0
	}
	return time.Since(u.last)
}
