// Package policy decides what may happen. It is pure: no I/O, no clock; the
// same request and the same mode give the same decision, and the decision says
// why.
//
//	tool call ──► Request … ──► Policy ──► Verdict ──► Decision (a log record)
//
// A verdict is allow, deny, ask, or no opinion. Here are the modes and the seam
// that rules, guards and grants fill.
package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Operation is the kind of effect that a request is about.
type Operation string

// The operations.
const (
	OpRead    Operation = "fs.read"
	OpWrite   Operation = "fs.write"
	OpExec    Operation = "fs.exec"
	OpCommand Operation = "command.execute"
	OpConnect Operation = "net.connect"
	OpMCP     Operation = "mcp.call"
	OpSecret  Operation = "secret.read"
)

// Request asks whether one effect may happen. A tool call raises one or several,
// which are judged together.
type Request struct {
	Session   string          `json:"session,omitempty"`
	Agent     string          `json:"agent,omitempty"`
	Tool      string          `json:"tool"`
	Operation Operation       `json:"operation"`
	Resource  string          `json:"resource"`        // canonical: an absolute path, a command line, a host
	Shown     string          `json:"shown,omitempty"` // how a person sees it, when different
	Input     json.RawMessage `json:"input,omitempty"`
	ReadOnly  bool            `json:"read_only,omitempty"`
}

// Digest identifies exactly what was asked: tool, operation, resource and input.
func (r Request) Digest() string {
	h := sha256.New()
	for _, s := range []string{"holdfast request 1", r.Tool, string(r.Operation), r.Resource, string(r.Input)} {
		fmt.Fprintf(h, "%d:%s\n", len(s), s)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Effect is what a verdict amounts to.
type Effect string

// The effects. None is "no opinion".
const (
	None  Effect = ""
	Allow Effect = "allow"
	Deny  Effect = "deny"
	Ask   Effect = "ask"
)

// Verdict is one policy's answer.
type Verdict struct {
	Effect Effect          `json:"effect,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"` // with Allow: run with this input instead
}

// Policy judges a request. Evaluate must not do I/O and must be safe for
// concurrent use.
type Policy interface {
	Evaluate(Request) Verdict
}

// Decision explains the outcome for one tool call; it is the payload of a
// decision record.
type Decision struct {
	Use     string   `json:"use_id"`
	Tool    string   `json:"tool"`
	Effect  Effect   `json:"effect"` // allow or deny: how it ended
	By      string   `json:"by"`     // what decided: "mode default", "person", a policy's name
	Reason  string   `json:"reason,omitempty"`
	Mode    Mode     `json:"mode"`
	Said    []Said   `json:"said,omitempty"` // what each policy said, in order
	Asked   bool     `json:"asked,omitempty"`
	Digests []string `json:"digests"` // of the requests
}

// Said is one policy's contribution to a decision.
type Said struct {
	Policy   string `json:"policy"`
	Resource string `json:"resource,omitempty"`
	Verdict
}
