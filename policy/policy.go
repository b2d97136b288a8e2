// Package policy decides whether a tool call is allowed, denied, or needs approval. It is pure: it
// does no I/O and reads no clock. The same request, chain and mode give the same decision, and the
// decision lists its reasons.
//
//	tool call ─► Request … ─► Guard ─► Decision (a log record)
//	                            │ chain: limits · grants · canUseTool · policies · rules · mode
//	                            └ for one tool, from Guards, which can change during a run
//
// A [Policy] has one method that returns allow, deny, ask or no opinion. The built-in policies have
// the names of the Open Agent SDK (tool-name allowlist and denylist, read-only, composite) and of
// agentkit (forbidden globs, read path, write path, commands). [Rules] have the syntax of Claude
// Code. Deny overrides ask, and ask overrides allow; docs/reference/permissions.md describes the
// full order.
//
//	guards, err := policy.New(&policy.Config{Mode: policy.ModeDefault, Rules: rules})
//	d := guards.Guard("Bash").Judge(ctx, requests, nil)
//	if d.Effect == policy.Ask { … }
package policy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
)

// Operation is the kind of effect of a request.
type Operation string

// The operations. A request without an operation is for a tool that accesses no named resource,
// such as a to-do list or a sub-agent.
const (
	OpRead    Operation = "fs.read"
	OpWrite   Operation = "fs.write"
	OpExec    Operation = "fs.exec"
	OpCommand Operation = "command.execute"
	OpConnect Operation = "net.connect"
	OpMCP     Operation = "mcp.call"
	OpSecret  Operation = "secret.read"
)

// Request describes one effect. A tool call has one request or several, which are decided together.
type Request struct {
	Session   string          `json:"session,omitempty"`
	Agent     string          `json:"agent,omitempty"`
	Tool      string          `json:"tool"`
	Operation Operation       `json:"operation"`
	Resource  string          `json:"resource"`          // canonical: an absolute path, a command line, a host, "server/tool"
	NamedPath string          `json:"named,omitempty"`   // for a path: its absolute name in the call, if that name leads to Resource through links
	Display   string          `json:"shown,omitempty"`   // the form for display, if it differs from Resource, such as a diff
	Line      string          `json:"line,omitempty"`    // for fs.exec: the program and its arguments as a shell command; checked like a command
	Cwd       string          `json:"cwd,omitempty"`     // for a command: its working folder, absolute
	Base      string          `json:"base,omitempty"`    // for a write: SHA-256 of the current content, or "absent"
	Address   string          `json:"address,omitempty"` // for a connection: the private address of the host; both the host and the address are checked
	Input     json.RawMessage `json:"input,omitempty"`
	ReadOnly  bool            `json:"read_only,omitempty"` // the tool declares that the call changes nothing
	// Override requests a single exception from a deny grant of the session. The approval request
	// then has the reason [record.ReasonOverride] (agentkit's). Nothing else can be overridden.
	Override bool `json:"override,omitempty"`

	// Confined is set in three cases: the kernel sandbox would confine the command or the MCP
	// server, the connection leaves the sandbox, or the sandbox refuses the action to the command
	// (see [Request.Opens]).
	// Unsandboxed is set if the session has such a sandbox and the command would run outside it.
	// Only the user can allow that, and only for one call. The tool sets at most one of Confined
	// and Unsandboxed.
	Confined    bool `json:"confined,omitempty"`
	Unsandboxed bool `json:"unsandboxed,omitempty"`

	// Person is set if only the user may decide about the call, every time: the approval of a plan,
	// or a question for the user. No rule, grant, hook, callback or mode can answer in place of the
	// user, but each of them can deny the call.
	Person bool `json:"person,omitempty"`

	// Form is set, together with Person, if Input is a form in which the user gives information to
	// a program.
	Form bool `json:"form,omitempty"`

	// Mode is the current mode. The guard sets it; policies may read it.
	Mode Mode `json:"-"`
}

// Words reports whether a request is only a dialog with the user. Such a request runs nothing that
// the sandbox could confine.
func (r *Request) Words() bool { return r.Person && r.Operation == "" }

// Opens reports whether the request would open the sandbox for an action that it refuses to a
// command: a write, or a socket type. Only the user can allow such a call.
func (r *Request) Opens() bool { return r.Confined && (r.Operation == OpWrite || r.Operation == "") }

// Digest returns a digest that identifies exactly this request. It covers Tool, Operation,
// Resource, Cwd, Base, Address, Input, Line, Confined, Unsandboxed, Person and Form.
func (r Request) Digest() string {
	var room [512]byte
	b := room[:0]
	for _, s := range [...]string{"holdfast request 2", r.Tool, string(r.Operation), r.Resource, r.Cwd, r.Base} {
		b = appendPart(b, s)
	}
	b = appendPart(b, r.Input)
	if r.Line != "" {
		b = appendPart(b, r.Line)
	}
	if r.Address != "" {
		b = appendPart(b, "at "+r.Address)
	}
	if r.Confined {
		b = appendPart(b, "confined")
	}
	if r.Unsandboxed {
		b = appendPart(b, "unsandboxed")
	}
	if r.Person {
		b = appendPart(b, "person")
	}
	if r.Form {
		b = appendPart(b, "form")
	}
	return digestOf(b)
}

// appendPart writes a part with its length, so that two different lists of parts never have the
// same encoding.
func appendPart[T string | json.RawMessage](b []byte, part T) []byte {
	b = strconv.AppendInt(b, int64(len(part)), 10)
	b = append(append(b, ':'), part...)
	return append(b, '\n')
}

func digestOf(b []byte) string {
	sum := sha256.Sum256(b)
	var text [2 * sha256.Size]byte
	hex.Encode(text[:], sum[:])
	return string(text[:])
}

// Effect is the result of a verdict.
type Effect string

// The effects. NoOpinion leaves the decision to other policies.
const (
	NoOpinion Effect = ""
	Allow     Effect = "allow"
	Deny      Effect = "deny"
	Ask       Effect = "ask"
)

// Verdict is the result of one policy. The zero value is no opinion.
type Verdict struct {
	Effect Effect          `json:"effect,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"` // with Allow: run the call with this input instead; the new input is also checked
	Stop   bool            `json:"stop,omitempty"`  // with Deny: end the turn as well
	Rule   *Origin         `json:"rule,omitempty"`  // the rule or setting that decided

	// Updates, with Allow, are the policy changes that the callback requests for the rest of the
	// session (Claude Code's updatedPermissions). Each one is applied and recorded as a separate
	// change.
	Updates []Update `json:"-"`
}

// Update is a policy change that comes with an answer: rules to allow or deny, or a mode.
type Update struct {
	Rules  []string // "Bash", "Bash(ls:*)"
	Effect Effect   // effect of Rules: Allow or Deny
	Mode   Mode
}

// Origin is the position where a rule or a setting was written.
type Origin struct {
	Rule  string `json:"rule,omitempty"`  // text of the rule: "Bash(npm run test:*)"
	Layer string `json:"layer,omitempty"` // one of managed, flag, local, project, user and session
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"` // from 1
	Col   int    `json:"col,omitempty"`  // from 1, in bytes
}

// Policy decides about a request. Evaluate must not do I/O, and must be safe for concurrent use. If
// a policy panics, returns an unknown effect, or takes longer than [Config.Timeout], the result is
// a deny.
type Policy interface {
	Evaluate(Request) Verdict
}

// CanUseTool is the host's callback (the Open Agent SDK's canUseTool). The zero Verdict means no
// opinion, like nil in that SDK. An error, a panic, and a call that takes longer than
// [Config.Timeout] result in a deny.
type CanUseTool func(ctx context.Context, r Request) (Verdict, error)
