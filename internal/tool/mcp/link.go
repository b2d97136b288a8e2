package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/truncate"
)

// State is the state of a server.
type State string

// The states.
const (
	Pending    State = "pending" // not used yet
	Connecting State = "connecting"
	Connected  State = "connected"
	Failed     State = "failed"     // the next use tries again, up to a maximum number of times
	NeedsAuth  State = "needs-auth" // the user must log in
	Closed     State = "closed"
)

// A failed server is tried again when it is used next. After the second failure in a row, the
// attempts wait for a growing delay; after several failures, they stop.
const (
	maxFailures = 5
	firstPause  = time.Second
	longPause   = time.Minute
	stable      = time.Minute // if a connection lasts this long, the failures are reset
)

// serverLink is one server of a client, connected or not.
//
//	pending ─► connecting ─► connected ─ dies ─► failed ─ next use, after a pause ─► connecting …
//	               └─ fails ─► failed, needs-auth          └ five times in a row: given up
type serverLink struct {
	c      *Client
	server Server // as configured

	mu         sync.Mutex
	state      State
	err        error                   // the reason why it is not connected
	conn       *conn                   // nil if not connected
	stop       context.CancelCauseFunc // ends the last attempt and its connection; nil if there was none
	trying     chan struct{}           // closed when the running attempt, or the end of a connection, is complete; nil if neither is in progress
	failures   int                     // number in a row
	again      time.Time               // the next attempt does not start before this time
	restarts   int
	legacy     bool // it did not answer the newer protocol
	stderrTail string
	offer      serverOffer
}

func newLink(c *Client, s Server) *serverLink { return &serverLink{c: c, server: s, state: Pending} }

// begin starts an attempt, unless an attempt is running or the link is connected.
func (l *serverLink) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conn == nil && l.trying == nil && l.state == Pending {
		l.try()
	}
}

// try starts an attempt. The caller holds l.mu.
func (l *serverLink) try() {
	done := make(chan struct{})
	ctx, stop := context.WithCancelCause(l.c.ctx)
	ok := l.c.spawn(func() {
		defer close(done)
		l.attempt(ctx)
	})
	if !ok {
		stop(nil)
		return
	}
	l.state, l.trying, l.stop = Connecting, done, stop
}

// spawn runs f, and Close waits until f returns. If the client is closed, spawn returns false.
func (c *Client) spawn(f func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.goroutines.Go(f)
	return true
}

// awaitAttempt waits for the running attempt.
func (l *serverLink) awaitAttempt(ctx context.Context) {
	l.mu.Lock()
	trying := l.trying
	l.mu.Unlock()
	if trying == nil {
		return
	}
	select {
	case <-trying:
	case <-ctx.Done():
	}
}

// connection returns the connection. If there is no connection, it connects, unless a retry is not
// allowed yet.
func (l *serverLink) connection(ctx context.Context) (*conn, error) {
	for {
		l.mu.Lock()
		if l.conn != nil {
			defer l.mu.Unlock()
			return l.conn, nil
		}
		if l.trying == nil {
			if err := l.mayTry(); err != nil {
				l.mu.Unlock()
				return nil, err
			}
			if l.try(); l.trying == nil {
				l.mu.Unlock()
				return nil, errClosed
			}
		}
		trying := l.trying
		l.mu.Unlock()
		select {
		case <-trying:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		l.mu.Lock()
		conn, err := l.conn, l.err
		l.mu.Unlock()
		if conn != nil || err != nil {
			return conn, err
		}
	}
}

// mayTry returns the reason why no attempt is allowed now. The caller holds l.mu.
func (l *serverLink) mayTry() error {
	switch pause := time.Until(l.again); {
	case l.state == Closed:
		return errClosed
	case l.state == NeedsAuth:
		return l.err
	case l.failures >= maxFailures:
		return fmt.Errorf("%w; not retried after %d failures", l.err, l.failures)
	case pause > 0:
		return fmt.Errorf("%w; next attempt in %s at the earliest", l.err, max(pause.Round(time.Second), time.Second))
	}
	return nil
}

// resetBackoff allows the next attempt to happen immediately.
func (l *serverLink) resetBackoff() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures, l.again = 0, time.Time{}
	if l.state == NeedsAuth || l.state == Failed {
		l.state = Pending
	}
}

// attempt connects once.
func (l *serverLink) attempt(ctx context.Context) {
	conn, offer, err := l.dial(ctx)
	l.mu.Lock()
	if why := context.Cause(ctx); errors.Is(why, errEnded) {
		err = why
	}
	if err == nil && l.state == Closed {
		err = errClosed
	}
	if err != nil {
		l.fail(err)
		l.mu.Unlock()
		l.notify(err)
		l.attemptDone()
		l.c.changed()
		if conn != nil {
			conn.end()
			<-conn.over
		}
		return
	}
	if l.restarts++; l.restarts == 1 {
		offer.changes = nil // there are no earlier tools with which to compare
	}
	l.state, l.err, l.conn, l.offer, l.trying = Connected, nil, conn, offer, nil
	l.mu.Unlock()
	l.reportOffer(offer)
	if !l.c.spawn(func() { l.watch(conn) }) {
		conn.end()
		<-conn.over
	}
	l.c.changed()
}

// fail records a failure. The caller holds l.mu.
func (l *serverLink) fail(err error) {
	l.err = err
	switch {
	case l.state == Closed:
		return
	case errors.Is(err, errEnded):
		l.state = Pending
		return
	case errors.Is(err, ErrNeedsAuth):
		l.state = NeedsAuth
		return
	}
	l.state = Failed
	l.failures++
	if l.failures > 1 {
		l.again = time.Now().Add(min(firstPause<<(l.failures-2), longPause))
	}
}

// notify shows the user that the server is not available.
func (l *serverLink) notify(err error) {
	if errors.Is(err, errClosed) || errors.Is(err, errEnded) || l.c.ctx.Err() != nil {
		return
	}
	l.mu.Lock()
	failures := l.failures
	l.mu.Unlock()
	text := err.Error()
	if hint := hintOf(err); hint != "" {
		text += "; hint: " + hint
	}
	if failures >= maxFailures {
		text += "; no further attempts are made"
	}
	l.c.notice("%s", text)
}

func hintOf(err error) string {
	if e, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return e.Hint()
	}
	return ""
}

// reportOffer reports skipped and changed tools.
func (l *serverLink) reportOffer(o serverOffer) {
	for _, text := range o.changes {
		l.c.notice("MCP server %q: %s", l.server.Name, text)
	}
	switch n := len(o.skipped) + max(o.moreSkipped-1, 0); {
	case n == 1:
		l.c.notice("MCP server %q: %s", l.server.Name, o.skipped[0])
	case n > 1:
		l.c.notice("MCP server %q: %d tools are skipped: %s; …", l.server.Name, n, o.skipped[0])
	}
}

// watch waits for the end of a connection.
func (l *serverLink) watch(conn *conn) {
	gone := make(chan error, 1)
	go func() { gone <- conn.session.Wait() }()
	select {
	case err := <-gone:
		l.onDisconnect(conn, err)
		conn.end()
	case <-conn.over:
	}
	<-conn.over
}

// onDisconnect records that a connection has ended or is unusable. A second caller waits until the
// first caller has recorded the reason.
func (l *serverLink) onDisconnect(conn *conn, why error) {
	l.mu.Lock()
	if l.conn != conn {
		explained := conn.endKnown
		l.mu.Unlock()
		if explained != nil {
			<-explained
		}
		return
	}
	done := make(chan struct{})
	l.conn, l.trying, conn.endKnown = nil, done, done
	l.mu.Unlock()
	conn.end()
	err := context.Cause(conn.life)
	if !errors.Is(err, errEnded) {
		err = l.server.disconnectError(conn, why)
	}
	l.mu.Lock()
	if time.Since(conn.since) >= stable {
		l.failures = 0
	}
	l.stderrTail = conn.process.stderrText()
	l.fail(err)
	l.mu.Unlock()
	l.notify(err)
	l.attemptDone()
	close(done)
	l.c.changed()
}

// attemptDone records that a failed attempt, or the end of a connection, has been handled. It is called
// after the user was notified, so that a call that waited for the attempt fails after the notice.
func (l *serverLink) attemptDone() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trying = nil
}

// disconnectError returns how a connection ended.
func (s *Server) disconnectError(conn *conn, why error) error {
	what := "the connection was lost"
	if conn.process != nil {
		what = "the server exited (" + conn.process.exitText() + ")"
	}
	return s.wrapError(what, withStderr(why, conn.process))
}

// shortError is an error whose text is shortened and safe to show.
type shortError struct{ error }

func (e shortError) Error() string { return truncate.String(shown(e.error.Error()), maxErrorText) }

func (e shortError) Unwrap() error { return e.error }

const maxErrorText = 4000

// wrapError returns an error about a server with its cause.
func (s *Server) wrapError(what string, err error) *Error {
	hint := hintOf(err)
	if e, ok := errors.AsType[*Error](err); ok && e.Server == s.Name { // do not name the server twice
		what, err = what+": "+e.Detail, e.Err
	} else if err != nil {
		err = shortError{err}
	}
	return &Error{Server: s.Name, Origin: s.Origin, Detail: what, Err: err, hint: hint}
}

// withStderr adds the last output on the server's standard error to an error.
func withStderr(err error, p *process) error {
	words := p.stderrText()
	switch {
	case words == "":
		return err
	case err == nil:
		return fmt.Errorf("the server wrote: %s", words)
	}
	return fmt.Errorf("%w; the server wrote: %s", err, words)
}

func (p *process) stderrText() string {
	if p == nil {
		return ""
	}
	return p.errs.String()
}

// dial connects and lists the tools. If there was a connection, it is returned, even together with
// an error.
func (l *serverLink) dial(ctx context.Context) (*conn, serverOffer, error) {
	s, err := l.server.Expand(variable(l.c.o.Environ))
	if err != nil {
		return nil, serverOffer{}, err
	}
	conn, err := l.open(ctx, &s)
	if err != nil {
		return conn, serverOffer{}, err
	}
	ctx, cancel := context.WithTimeout(conn.ctx, s.startTimeout())
	defer cancel()
	l.mu.Lock()
	before := l.offer
	l.mu.Unlock()
	o, err := conn.offer(ctx, before)
	if err != nil {
		if ctx.Err() != nil && conn.ctx.Err() == nil {
			err = fmt.Errorf("no list of tools within %s", s.startTimeout())
		}
		return conn, serverOffer{}, l.server.wrapError("listing its tools failed", withStderr(err, conn.process))
	}
	return conn, o, nil
}

// errEnded means that EndProcesses stopped the server.
var errEnded = errors.New("the server was stopped")

// endProcess stops a stdio server and waits until it has ended.
func (l *serverLink) endProcess(why error) {
	l.mu.Lock()
	if l.server.kind() != Stdio || l.stop == nil {
		l.mu.Unlock()
		return
	}
	l.stop(&Error{Server: l.server.Name, Origin: l.server.Origin, Detail: "is not available", Err: fmt.Errorf("%w: %w", errEnded, why)})
	conn, trying := l.conn, l.trying
	l.mu.Unlock()
	switch {
	case conn != nil:
		l.onDisconnect(conn, why)
		<-conn.over
	case trying != nil:
		<-trying
	}
}

// close ends the connection permanently.
func (l *serverLink) close() {
	l.mu.Lock()
	conn := l.conn
	l.conn, l.state, l.err = nil, Closed, cmp.Or[error](l.err, errClosed)
	l.mu.Unlock()
	if conn != nil {
		conn.end()
	}
}
