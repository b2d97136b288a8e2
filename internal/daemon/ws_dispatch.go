package daemon

import (
	"github.com/coder/websocket"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
)

// freeBytes is how much of a message costs no more than a message does; every
// further one of that length costs as much as a message.
const freeBytes = 16 << 10

// receive takes a message in and reports whether the connection goes on.
func (c *socket) receive(b []byte) bool {
	now := c.s.o.Clock()
	if !c.rate.take(1+float64(len(b)/freeBytes), now) {
		return c.rateExceeded(b, c.excess.take(1, now))
	}
	req, bad := wire.Decode(b)
	if !c.known {
		return c.introduced(req, bad)
	}
	if bad != nil {
		c.reply(bad)
		return true
	}
	if hello, ok := req.(*wire.Hello); ok {
		return c.sendGreeting(hello)
	}
	if scope := scopeOf(req); !c.caller.HasScope(scope) {
		c.reply(denial(req, wire.CodeForbidden, req.Type()+" needs the scope "+string(scope), "use a token that has it"))
		return true
	}
	if _, ok := req.(*wire.Ping); ok {
		c.reply(replyTo(req, &wire.Pong{}))
		return true
	}
	if !c.enqueue(queueOf(req), func() { c.serveRequest(req) }) {
		c.reply(denial(req, wire.CodeRateLimited, "too many requests of this connection are not answered yet", ""))
	}
	return true
}

// rateExceeded answers a message that is one too many, and closes when it goes on.
func (c *socket) rateExceeded(b []byte, once bool) bool {
	if !once {
		c.close(websocket.StatusPolicyViolation, "too many messages")
		return false
	}
	e := &wire.Error{Code: wire.CodeRateLimited, Message: "too many messages: at most 50 in a second, and 200 at once", Hint: "slow down"}
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

// introduced takes the first message of a client without a credential: a hello with
// a good token, or the connection ends.
func (c *socket) introduced(req wire.Request, bad *wire.Error) bool {
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
	caller, ok := c.s.o.Auth.Hello(c.request, hello.Token)
	if !ok || !caller.HasScope(api.ScopeRead) {
		return c.reject(denial(hello, wire.CodeUnauthorized, "the token is not good", "holdfast daemon token create"))
	}
	c.hello.Stop()
	c.request = nil
	c.s.introduce(c, caller)
	c.greet(hello)
	return true
}

func (c *socket) reject(e *wire.Error) bool {
	c.reply(e)
	c.close(websocket.StatusPolicyViolation, "no credential")
	return false
}

// sendGreeting answers a hello on a connection whose caller is known already. A token in it
// changes nothing, but must be good.
func (c *socket) sendGreeting(hello *wire.Hello) bool {
	if hello.Token != "" {
		if _, ok := c.s.o.Auth.Check(hello.Token); !ok {
			return c.reject(denial(hello, wire.CodeUnauthorized, "the token is not good", "holdfast daemon token create"))
		}
	}
	c.greet(hello)
	return true
}

// scopeOf is what a caller must be allowed to send a request.
func scopeOf(req wire.Request) api.Scope {
	if d, ok := req.(*wire.PermissionDecision); ok && d.Always != "" {
		return api.ScopeAdmin // see [Options.keeping]
	}
	switch req.(type) {
	case *wire.PrepareRun, *wire.StartRun, *wire.ContinueRun, *wire.StopRun, *wire.UserInput, *wire.SteerRun:
		return api.ScopeRun
	case *wire.PermissionDecision, *wire.UpdatePolicy, *wire.SetMode:
		return api.ScopeApprove
	case *wire.Ping, *wire.Subscribe, *wire.Unsubscribe, *wire.ListRuns, *wire.ListStrategies:
		return api.ScopeRead
	}
	return api.ScopeAdmin // what is not listed here is for nobody less
}

// queueOf names what a request must wait for: those about one run are served one after
// the other, and a decision waits for nothing but decisions about the same question.
func queueOf(req wire.Request) string {
	if d, ok := req.(*wire.PermissionDecision); ok {
		return "question " + d.PermissionRequestID
	}
	return "run " + runNamed(req)
}

// runNamed is the run that a request is about, or "".
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

// enqueue serves a request as soon as those of its lane before it are served.
func (c *socket) enqueue(lane string, job func()) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended || c.busy >= c.s.limits.pending {
		return c.ended // nobody reads the answer
	}
	c.busy++
	if c.queues == nil {
		c.queues = map[string][]func(){}
	}
	if rest, there := c.queues[lane]; there {
		c.queues[lane] = append(rest, job)
		return true
	}
	c.queues[lane] = nil
	return c.spawnLocked(func() { c.drive(lane, job) })
}

// drive serves the requests of a lane until there are none.
func (c *socket) drive(lane string, job func()) {
	for job != nil {
		job()
		c.mu.Lock()
		c.busy--
		job = nil
		if rest := c.queues[lane]; len(rest) > 0 {
			job, c.queues[lane] = rest[0], rest[1:]
		} else {
			delete(c.queues, lane)
		}
		c.mu.Unlock()
	}
}
