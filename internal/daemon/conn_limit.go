package daemon

import (
	"io"
	"net"
	"net/http"
	"sync"
	"time"
)

// withReadDeadline limits the time in which a request's body must arrive. The server also reads the
// body of a request that it rejects, so the limit applies before authentication.
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

// deadlineBody removes the deadline at the end of the body, because the handler may take longer and
// must still notice when the client disconnects.
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

// connLimit limits TCP connections. WebSockets have their own limits. Without this limit, a client
// that reaches the port could use up the process's open files, and block the store, commands and
// the unix socket.
type connLimit struct {
	max int

	mu   sync.Mutex
	open map[net.Conn]struct{}
}

// newConnLimit allows as many connections as half of the files that the process may open, but at
// most ten thousand.
func newConnLimit(files int) *connLimit {
	return &connLimit{max: max(1, min(files/2, 10_000)), open: map[net.Conn]struct{}{}}
}

// state is the [http.Server.ConnState] callback. It closes a connection above the limit.
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
