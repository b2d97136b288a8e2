package daemon

import (
	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
)

// freeBytes is the largest size of a message that takes only one token. For each further freeBytes
// bytes, the message takes one more token.
const freeBytes = 16 << 10

// receive handles a message. It reports whether the connection continues.
func (c *socket) receive(b []byte) bool {
	now := c.s.o.Clock()
	if !c.rate.take(1+float64(len(b)/freeBytes), now) {
		return c.rateExceeded(b, c.excess.take(1, now))
	}
	req, bad := wire.Decode(b)
	if !c.known {
		return c.authenticate(req, bad)
	}
	if bad != nil {
		c.reply(bad)
		return true
	}
	if hello, ok := req.(*wire.Hello); ok {
		return c.handleHello(hello)
	}
	if scope := scopeOf(req); !c.caller.HasScope(scope) {
		c.reply(errorFor(req, wire.CodeForbidden, req.Type()+" needs the scope "+string(scope), "use a token with this scope"))
		return true
	}
	if _, ok := req.(*wire.Ping); ok {
		c.reply(replyTo(req, &wire.Pong{}))
		return true
	}
	if !c.enqueue(laneOf(req), func() { c.serveRequest(req) }) {
		c.reply(errorFor(req, wire.CodeRateLimited, "too many unanswered requests on this connection", ""))
	}
	return true
}

// rateExceeded answers a message that exceeds the rate. If the client continues to exceed it,
// rateExceeded closes the connection.
func (c *socket) rateExceeded(b []byte, once bool) bool {
	if !once {
		c.close(websocket.StatusPolicyViolation, "too many messages")
		return false
	}
	e := &wire.Error{Code: wire.CodeRateLimited, Message: "too many messages: at most 50 per second and 200 at once are allowed", Hint: "send fewer messages"}
	if len(b) <= freeBytes && c.known {
		if req, bad := wire.Decode(b); bad != nil {
			e.RequestID = bad.RequestID
		} else {
			e.RequestID = req.Correlation()
		}
	}
	c.reply(e)
	return true
}

// authenticate handles the first message of an unauthenticated client: a hello with a valid token.
// Otherwise the connection ends.
func (c *socket) authenticate(req wire.Request, bad *wire.Error) bool {
	hello, ok := req.(*wire.Hello)
	if !ok {
		e := &wire.Error{Code: wire.CodeUnauthorized, Message: "the first message must be a hello with a token", Hint: "holdfast daemon token create"}
		if bad != nil {
			e.RequestID = bad.RequestID
		} else {
			e.RequestID = req.Correlation()
		}
		return c.reject(e)
	}
	caller, ok := c.s.o.Auth.CheckHello(c.request, hello.Token)
	if !ok || !caller.HasScope(api.ScopeRead) {
		return c.reject(errorFor(hello, wire.CodeUnauthorized, "the token is invalid", "holdfast daemon token create"))
	}
	c.hello.Stop()
	c.request = nil
	c.s.setCaller(c, caller)
	c.greet(hello)
	return true
}

func (c *socket) reject(e *wire.Error) bool {
	c.reply(e)
	c.close(websocket.StatusPolicyViolation, "missing credential")
	return false
}

// handleHello answers a hello on an authenticated connection. A token in it changes nothing, but
// must be valid.
func (c *socket) handleHello(hello *wire.Hello) bool {
	if hello.Token != "" {
		if _, ok := c.s.o.Auth.Check(hello.Token); !ok {
			return c.reject(errorFor(hello, wire.CodeUnauthorized, "the token is invalid", "holdfast daemon token create"))
		}
	}
	c.greet(hello)
	return true
}

// scopeOf returns the scope that a request needs.
func scopeOf(req wire.Request) api.Scope {
	if d, ok := req.(*wire.PermissionDecision); ok && d.Always != "" {
		return api.ScopeAdmin // see [Options.planSave]
	}
	switch req.(type) {
	case *wire.PrepareRun, *wire.StartRun, *wire.ContinueRun, *wire.StopRun, *wire.UserInput, *wire.SteerRun:
		return api.ScopeRun
	case *wire.PermissionDecision, *wire.UpdatePolicy, *wire.SetMode:
		return api.ScopeApprove
	case *wire.Ping, *wire.Subscribe, *wire.Unsubscribe, *wire.ListRuns, *wire.ListStrategies:
		return api.ScopeRead
	}
	return api.ScopeAdmin // the default for requests that are not in the list
}

// laneOf returns the queue of a request. Requests about the same run are served one after the
// other. The exception is a decision, which waits only for decisions about the same approval.
func laneOf(req wire.Request) string {
	if d, ok := req.(*wire.PermissionDecision); ok {
		return "question " + d.PermissionRequestID
	}
	return "run " + runNamed(req)
}

// runNamed returns the run of a request, or "".
func runNamed(req wire.Request) string {
	switch r := req.(type) {
	case *wire.PrepareRun:
		return r.RunID
	case *wire.StartRun:
		return r.RunID
	case *wire.ContinueRun:
		return r.RunID
	case *wire.StopRun:
		return r.RunID
	case *wire.UserInput:
		return r.RunID
	case *wire.SteerRun:
		return r.RunID
	case *wire.PermissionDecision:
		return r.RunID
	case *wire.UpdatePolicy:
		return r.RunID
	case *wire.SetMode:
		return r.RunID
	case *wire.Subscribe:
		return r.RunID
	case *wire.Unsubscribe:
		return r.RunID
	}
	return ""
}

// enqueue adds a request to its lane. The request is served after the earlier requests of that
// lane. enqueue returns false if the connection has too many unanswered requests.
func (c *socket) enqueue(lane string, job func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.busy >= c.s.limits.pending {
		return c.ended // no client reads the answer
	}
	c.busy++
	if c.lanes == nil {
		c.lanes = map[string][]func(){}
	}
	if rest, busy := c.lanes[lane]; busy {
		c.lanes[lane] = append(rest, job)
		return true
	}
	c.lanes[lane] = nil
	return c.spawnLocked(func() { c.serveLane(lane, job) })
}

// serveLane serves the requests of a lane until it is empty.
func (c *socket) serveLane(lane string, job func()) {
	for job != nil {
		job()
		c.mu.Lock()
		c.busy--
		job = nil
		if rest := c.lanes[lane]; len(rest) > 0 {
			job, c.lanes[lane] = rest[0], rest[1:]
		} else {
			delete(c.lanes, lane)
		}
		c.mu.Unlock()
	}
}
