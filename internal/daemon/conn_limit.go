package daemon

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// withReadDeadline gives a request's body a time to come. That of a refused request is read
// before the answer, so it has to hold before anybody is let in.
func withReadDeadline(next http.Handler, wait time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		control := http.NewResponseController(w)
		if err := control.SetReadDeadline(time.Now().Add(wait)); err == nil {
			r.Body = &deadlineBody{r.Body, control}
		}
		next.ServeHTTP(w, r)
	})
}

// deadlineBody takes the deadline away at the end of the body: what the request does may
// take longer, and must see when the client goes.
type deadlineBody struct {
	io.ReadCloser
	control *http.ResponseController
}

// Read implements [io.Reader].
func (b *deadlineBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.control.SetReadDeadline(time.Time{})
	}
	return n, err
}

// connLimit bounds how many TCP clients are connected, WebSockets aside, which have bounds
// of their own. Otherwise whoever reaches the port could use up the files that a
// process may have open, and with them the store, the commands and the unix socket.
type connLimit struct {
	max int

	mu   sync.Mutex
	open map[net.Conn]struct{}
}

// newConnLimit makes one for half of the files, and ten thousand connections at most.
func newConnLimit(files int) *connLimit {
	return &connLimit{max: max(1, min(files/2, 10_000)), open: map[net.Conn]struct{}{}}
}

// state is [http.Server.ConnState]. One too many is closed.
func (c *connLimit) state(conn net.Conn, s http.ConnState) {
	if conn.LocalAddr().Network() != "tcp" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s {
	case http.StateNew:
		if len(c.open) >= c.max {
			_ = conn.Close()
			return
		}
		c.open[conn] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	case http.StateActive, http.StateIdle:
	}
}
