package approval

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
)

// Request asks whether one tool call may run; it is the payload of an
// approval.asked record. It holds all that a person is shown, and an answer covers
// exactly that.
type Request struct {
	ID         string           `json:"id"`
	Session    string           `json:"session_id,omitempty"`
	Agent      string           `json:"agent,omitempty"`
	Asker      string           `json:"asker,omitempty"` // the session of the sub-agent that asks, which works for Session; "" when that asks itself
	Use        string           `json:"use_id"`
	Tool       string           `json:"tool"`
	Requests   []policy.Request `json:"requests"` // with Shown: the full command or the diff
	Digest     string           `json:"digest"`   // of Requests as they are, see [Request.Matches]
	Reason     string           `json:"reason"`   // "policy-ask", or "policy-deny-override" where the session has denied it
	ReasonText string           `json:"why"`      // in words: "rule Bash(git push:*) asks"
	AskedBy    string           `json:"by"`       // the link of the chain that asks
	Rule       *policy.Origin   `json:"rule,omitempty"`
	Mode       policy.Mode      `json:"mode"`
	Cwd        string           `json:"cwd,omitempty"`
	Home       string           `json:"home,omitempty"`    // what "~" stands for
	Sandbox    string           `json:"sandbox,omitempty"` // what would hold the call; "none" when nothing does, "" when it is words
	Scopes     []Scope          `json:"scopes,omitempty"`  // offered for "for this session", narrowest first; none for an override
	AskedAt    time.Time        `json:"asked_at"`
	Expires    *time.Time       `json:"expires_at,omitempty"` // then the answer is no
}

// OnceOnly reports whether a yes can be for this call alone: the session has denied it,
// it would run outside of the sandbox, or only a person decides about it.
func (q *Request) OnceOnly() bool {
	return q.Reason == record.ReasonOverride || q.Person() || slices.ContainsFunc(q.Requests, func(r policy.Request) bool { return r.Unsandboxed })
}

// Person reports whether nobody but a person decides about the call.
func (q *Request) Person() bool {
	return slices.ContainsFunc(q.Requests, func(r policy.Request) bool { return r.Person })
}

// SandboxOpens is what the question would open in the sandbox; nil when it is about something else.
func (q *Request) SandboxOpens() *policy.Request {
	if len(q.Requests) != 1 || !q.Requests[0].Opens() {
		return nil
	}
	return &q.Requests[0]
}

// Rules are the rules that settings can have for calls like the one that is asked about, the narrowest first.
func (q *Request) Rules() []Scope {
	if q.OnceOnly() {
		return nil
	}
	rules := slices.DeleteFunc(slices.Clone(q.Scopes), func(s Scope) bool { return s.Rule == "" })
	if exact, ok := q.exactRule(); ok {
		rules = append([]Scope{exact}, rules...)
	}
	return rules
}

// exactRule is a rule for exactly the command that the question is about. One with a text that a rule
// would take for a pattern has none.
func (q *Request) exactRule() (Scope, bool) {
	if len(q.Requests) != 1 || q.Requests[0].Operation != policy.OpCommand || strings.ContainsAny(q.Requests[0].Resource, "*\\\n") {
		return Scope{}, false
	}
	s := Scope{
		Rule: q.Tool + "(" + strings.NewReplacer("(", `\(`, ")", `\)`).Replace(q.Requests[0].Resource) + ")",
		Text: "exactly this command",
	}
	return s, q.Check(Answer{Decision: AllowSession, Scope: s.Rule}) == nil
}

// Scope is what "for this session" would cover. A person may edit Rule; what
// comes back is checked like any rule.
type Scope struct {
	Rule string `json:"rule,omitempty"` // Claude Code's syntax; "" means exactly this request
	Text string `json:"text"`           // in words: "exactly this command in /w", "every file in src/"
}

// Decision is what a person decided.
type Decision string

// The decisions (seed 002).
const (
	Allow        Decision = "allow" // once: no grant, no change of policy
	Deny         Decision = "deny"
	AllowSession Decision = "allow-session" // for the session
	DenySession  Decision = "deny-session"
)

// Allows reports whether the call may run.
func (d Decision) Allows() bool { return d == Allow || d == AllowSession }

// Session reports whether the decision is remembered for the run.
func (d Decision) Session() bool { return d == AllowSession || d == DenySession }

// Answer is the answer to a question; it is the payload of an approval.resolved
// record.
type Answer struct {
	RequestID string          `json:"id"`
	Decision  Decision        `json:"decision"`
	Scope     string          `json:"scope,omitempty"`   // of a session decision: a rule; "" is the exact request
	SaveTo    string          `json:"always,omitempty"`  // of a session decision: the layer of settings into which its rule is written as well: local, project or user
	Message   string          `json:"message,omitempty"` // told to the model
	Stop      bool            `json:"stop,omitempty"`    // with a deny: end the turn as well
	Input     json.RawMessage `json:"input,omitempty"`   // with a plain allow: run with this input instead; it is judged again
	Actor     string          `json:"by,omitempty"`      // who: "person", a name, "nobody", "timeout"
	Via       string          `json:"via,omitempty"`     // through what: "terminal", "cli", "websocket"
	At        time.Time       `json:"at"`

	Agent string `json:"agent,omitempty"` // of a sub-agent's question: who asked, as in the question
	Asker string `json:"asker,omitempty"`
}

// Bind returns the answer as the record of an answer to q.
func (a Answer) Bind(q Request) Answer {
	a.RequestID, a.Agent, a.Asker = q.ID, "", q.Asker
	if q.Asker != "" {
		a.Agent = q.Agent
	}
	return a
}
