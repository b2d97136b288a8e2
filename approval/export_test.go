package approval

import (
	"time"

	"github.com/holdfast-dev/holdfast/policy"
)

// QuestionOptions say what a test's question has besides a decision.
type QuestionOptions struct {
	ID, Agent, Cwd, Home, Sandbox string
	At                            time.Time
	Timeout                       time.Duration // 0 is never
}

// New makes a test's question.
func New(requests []policy.Request, d policy.Decision, o QuestionOptions) Request {
	q := Request{ID: o.ID, Agent: o.Agent, Cwd: o.Cwd, Home: o.Home, Sandbox: o.Sandbox, AskedAt: o.At}
	if o.Timeout > 0 {
		at := o.At.Add(o.Timeout)
		q.Expires = &at
	}
	return q.ForRequests(requests, d)
}

// Bounds that the external tests check.
const (
	MaxMessage = maxMessage
	MaxShown   = maxShown
)
