package approval

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
)

// Request is the request for approval to run one tool call. It is the payload of an approval.asked
// record and contains everything that the approver sees. An answer covers exactly the request.
type Request struct {
	ID         string           `json:"id"`
	Session    string           `json:"session_id,omitempty"`
	Agent      string           `json:"agent,omitempty"`
	Asker      string           `json:"asker,omitempty"` // session of the sub-agent that requests approval; "" if the agent of Session requests it
	Use        string           `json:"use_id"`
	Tool       string           `json:"tool"`
	Requests   []policy.Request `json:"requests"` // the requests of the call; their field Display contains, for example, the diff of a file
	Digest     string           `json:"digest"`   // digest of Requests; see [Request.Matches]
	Reason     string           `json:"reason"`   // "policy-ask", or "policy-deny-override" if the session denies such calls
	ReasonText string           `json:"why"`      // a sentence such as "rule Bash(git push:*) asks"
	AskedBy    string           `json:"by"`       // the link of the policy chain that required approval
	Rule       *policy.Origin   `json:"rule,omitempty"`
	Mode       policy.Mode      `json:"mode"`
	Cwd        string           `json:"cwd,omitempty"`
	Home       string           `json:"home,omitempty"`    // the folder that "~" stands for
	Sandbox    string           `json:"sandbox,omitempty"` // the sandbox of the call; "none" if it has none, "" for questions and forms
	Scopes     []Scope          `json:"scopes,omitempty"`  // scopes offered for a session decision, starting with the narrowest; empty for an override
	AskedAt    time.Time        `json:"asked_at"`
	Expires    *time.Time       `json:"expires_at,omitempty"` // the time when the request is denied
}

// OnceOnly reports whether an allow can cover only this call, because the session denies such
// calls, the call would run outside the sandbox, or only the user may decide.
func (q *Request) OnceOnly() bool {
	return q.Reason == record.ReasonOverride || q.Person() || slices.ContainsFunc(q.Requests, func(r policy.Request) bool { return r.Unsandboxed })
}

// Person reports whether only the user may decide about the call.
func (q *Request) Person() bool {
	return slices.ContainsFunc(q.Requests, func(r policy.Request) bool { return r.Person })
}

// SandboxOpens returns the sandbox restriction that the request would lift, or nil if it is about
// something else.
func (q *Request) SandboxOpens() *policy.Request {
	if len(q.Requests) != 1 || !q.Requests[0].Opens() {
		return nil
	}
	return &q.Requests[0]
}

// Rules returns the rules that could be saved in the settings for calls like this one, narrowest
// first.
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

// exactRule returns a rule for exactly the command of the request. It returns false if the rule
// syntax would read the command as a pattern.
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

// Scope is what a session decision would cover. The approver may edit Rule; the edited rule is
// checked like any other.
type Scope struct {
	Rule string `json:"rule,omitempty"` // a rule in Claude Code's syntax; "" means exactly this request
	Text string `json:"text"`           // a description such as "exactly this command in /w" or "every file in src/"
}

// Decision is the decision of an approver.
type Decision string

// The decisions. The names are the same as in CommaAgents.
const (
	Allow        Decision = "allow" // this call only, without a grant
	Deny         Decision = "deny"
	AllowSession Decision = "allow-session" // this call and similar calls in the rest of the session
	DenySession  Decision = "deny-session"
)

// Allows reports whether the call may run.
func (d Decision) Allows() bool { return d == Allow || d == AllowSession }

// Session reports whether the decision applies to the rest of the session.
func (d Decision) Session() bool { return d == AllowSession || d == DenySession }

// Answer is the answer to an approval request. It is the payload of an approval.resolved record.
type Answer struct {
	RequestID string          `json:"id"`
	Decision  Decision        `json:"decision"`
	Scope     string          `json:"scope,omitempty"`   // the rule of a session decision; "" covers the exact request
	SaveTo    string          `json:"always,omitempty"`  // the settings layer that saves the rule of a session decision: local, project or user
	Message   string          `json:"message,omitempty"` // sent to the model
	Stop      bool            `json:"stop,omitempty"`    // a deny also ends the turn
	Input     json.RawMessage `json:"input,omitempty"`   // for an allow, the input to use instead; the policy checks it again
	Actor     string          `json:"by,omitempty"`      // who answered: "person", a name, "nobody" or "timeout"
	Via       string          `json:"via,omitempty"`     // the channel of the answer: "terminal", "cli" or "websocket"
	At        time.Time       `json:"at"`

	Agent string `json:"agent,omitempty"` // the name of the sub-agent that requested approval, as in the request
	Asker string `json:"asker,omitempty"`
}

// Bind returns a copy of the answer that belongs to q.
func (a Answer) Bind(q Request) Answer {
	a.RequestID, a.Agent, a.Asker = q.ID, "", q.Asker
	if q.Asker != "" {
		a.Agent = q.Agent
	}
	return a
}
