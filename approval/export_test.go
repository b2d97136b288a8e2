package approval

import (
	"time"

	"github.com/holdfast-dev/holdfast/policy"
)

// RequestOptions are further fields of a test's request.
type RequestOptions struct {
	ID, Agent, Cwd, Home, Sandbox string
	At                            time.Time
	Timeout                       time.Duration // 0 means never
}

// New returns a request for a test.
func New(requests []policy.Request, d policy.Decision, o RequestOptions) Request {
	q := Request{ID: o.ID, Agent: o.Agent, Cwd: o.Cwd, Home: o.Home, Sandbox: o.Sandbox, AskedAt: o.At}
	if o.Timeout > 0 {
		at := o.At.Add(o.Timeout)
		q.Expires = &at
	}
	return q.ForRequests(requests, d)
}

// Limits that the external tests check.
const (
	MaxMessage = maxMessage
	MaxShown   = maxShown
)
