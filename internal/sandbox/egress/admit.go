package egress

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"
)

// target is the destination of a connection.
type target struct {
	host Host
	port int
}

func (t target) String() string { return net.JoinHostPort(t.host.String(), strconv.Itoa(t.port)) }

// admit checks the name of a target, requests approval if the rules require it, and records
// refusals. It returns nil if the connection is allowed.
func (c *client) admit(t target) *Refusal {
	d := c.p.rules.decide(t.host, t.port)
	switch d.effect {
	case refused:
		return c.refuse(d.why)
	case asks:
		if ok, why := c.askName(t, &d.why); !ok {
			d.why.Reason += ", and " + why
			return c.refuse(d.why)
		}
	}
	if d.wildcard == "" {
		return nil
	}
	fresh, ok := c.p.names.note(t.host.Name, time.Now())
	if !ok {
		return c.refuse(Refusal{
			Host: t.host.String(), Port: t.port, Layer: -1, Setting: SettingAllowed, Entry: d.wildcard,
			Reason: fmt.Sprintf("more than %d different names under %q in a minute", c.p.names.limit, d.wildcard),
			Hint:   "wait a minute, or list the names themselves",
		})
	}
	if fresh {
		c.p.o.Log.Info("sandbox: a name under a wildcard", "command", c.s.ID, "host", t.host.String(), "entry", d.wildcard)
	}
	return nil
}

// refuse records a refusal.
func (c *client) refuse(f Refusal) *Refusal {
	if c.s.note(&f) {
		c.p.o.Log.Info("sandbox refused a connection", "command", c.s.ID, "host", f.Host, "port", f.Port,
			"reason", f.Reason, "setting", f.Setting, "entry", f.Entry)
	}
	return &f
}

// askName requests approval for a name that no entry covers, together with the private address that
// the name resolves to, if known. If it is refused, the refusal names the entries that would allow
// both.
func (c *client) askName(t target, why *Refusal) (bool, string) {
	if c.s.allowed(t.String()) {
		return true, ""
	}
	address := c.privateAddress(t)
	ok, not := c.ask(t, address)
	switch {
	case address == "":
	case ok:
		c.s.allow(t.String())
	default:
		why.addAddress(address)
	}
	return ok, not
}

// ask requests approval for a target, or for the target and the private address that its name resolves
// to.
func (c *client) ask(t target, address string) (bool, string) {
	if c.p.o.Ask == nil {
		return false, "no one can answer"
	}
	return c.s.ask(c.ctx, strings.TrimSpace(t.String()+" "+address), c.start, func() (bool, string) {
		ctx, cancel := context.WithTimeout(c.serving, c.p.o.Limits.AskTime)
		defer cancel()
		ok, err := c.p.o.Ask(ctx, t.host.String(), t.port, address)
		switch {
		case ctx.Err() != nil:
			return false, "no one answered"
		case err != nil:
			return false, "the approval request failed: " + err.Error()
		}
		return ok, ""
	})
}

// wildcardNames counts the different names that were requested under wildcards in the last minute.
type wildcardNames struct {
	limit int

	mu   sync.Mutex
	seen map[string]time.Time
}

// note counts a name. A name already seen within the minute is not counted again.
func (n *wildcardNames) note(name string, now time.Time) (fresh, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.seen == nil {
		n.seen = map[string]time.Time{}
	}
	if at, known := n.seen[name]; known && now.Sub(at) < time.Minute {
		return false, true
	}
	for old, at := range n.seen {
		if now.Sub(at) >= time.Minute {
			delete(n.seen, old)
		}
	}
	if len(n.seen) >= n.limit {
		return false, false
	}
	n.seen[name] = now
	return true, true
}
