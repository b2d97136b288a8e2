// Package policy decides what may happen. It is pure: no I/O and no clock of its
// own; the same request, chain and mode give the same decision, and the decision
// says why.
//
//	tool call ─► Request … ─► Guard ─► Decision (a log record)
//	                            │ chain: limits · grants · canUseTool · policies · rules · mode
//	                            └ of one tool, made by Guards, which change while a run goes on
//
// A [Policy] is one method that says allow, deny, ask or nothing. The built-in ones
// have the names of seed 000 (tool-name allowlist and denylist, read-only,
// composite) and of seed 002 (forbidden globs, read path, write path, commands). [Rules] are Claude Code's.
// Deny beats ask beats allow, whoever says it; the order is in docs/reference/permissions.md.
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

// Operation is the kind of effect that a request is about.
type Operation string

// The operations. A request without one is about a tool that touches nothing
// that has a name (a to-do list, a sub-agent).
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
	Resource  string          `json:"resource"`          // canonical: an absolute path, a command line, a host, "server/tool"
	NamedPath string          `json:"named,omitempty"`   // of a path: how it was named, absolute, when links on the way lead to Resource
	Display   string          `json:"shown,omitempty"`   // how a person sees it, when different: a diff
	Line      string          `json:"line,omitempty"`    // of fs.exec: the program and its arguments as a shell would be given them; judged as a command is
	Cwd       string          `json:"cwd,omitempty"`     // of a command: where it would start, absolute
	Base      string          `json:"base,omitempty"`    // of a write: SHA-256 of what is there now, or "absent"
	Address   string          `json:"address,omitempty"` // of a connection: the private address that the host has; both are judged
	Input     json.RawMessage `json:"input,omitempty"`
	ReadOnly  bool            `json:"read_only,omitempty"` // the tool says that the call changes nothing
	// Override asks once for what a session deny forbids; the question then has
	// the reason [record.ReasonOverride] (seed 002). Nothing else can be overridden.
	Override bool `json:"override,omitempty"`

	// Confined says that a kernel sandbox would hold the command or holds the MCP server, that the
	// connection leads out of it, or that it refuses a command the write. Unsandboxed says that the
	// session has such a sandbox and the command would run outside of it: only a person allows that,
	// once. At most one of the two is set, by the tool.
	Confined    bool `json:"confined,omitempty"`
	Unsandboxed bool `json:"unsandboxed,omitempty"`

	// Person says that only a person decides about the call, each time: a plan that is
	// to be carried out, a question to the user. No rule, grant, hook, callback and mode
	// answers for him; whoever denies the call still denies it.
	Person bool `json:"person,omitempty"`

	// Form says that Input is a form, which the person fills in: what a program wants to
	// know. It is set together with Person.
	Form bool `json:"form,omitempty"`

	// Mode is the mode in force. The guard sets it; policies may read it.
	Mode Mode `json:"-"`
}

// Words reports whether a request is about words alone, between a person and whoever asks:
// nothing runs that could be held.
func (r *Request) Words() bool { return r.Person && r.Operation == "" }

// Opens reports whether the request would open the sandbox for what it refuses a command: a write, or
// a kind of sockets. Only a person opens it.
func (r *Request) Opens() bool { return r.Confined && (r.Operation == OpWrite || r.Operation == "") }

// Digest identifies exactly what was asked: tool, operation, resource, folder,
// base, address, input, line, what would hold it, and whether only a person decides or fills it in.
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

// appendPart writes a part with its length, so that no two lists of parts look alike.
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

// Effect is what a verdict amounts to.
type Effect string

// The effects. None is "no opinion".
const (
	NoOpinion Effect = ""
	Allow     Effect = "allow"
	Deny      Effect = "deny"
	Ask       Effect = "ask"
)

// Verdict is one policy's answer. The zero value is no opinion.
type Verdict struct {
	Effect Effect          `json:"effect,omitempty"`
	Reason string          `json:"reason,omitempty"`
	Input  json.RawMessage `json:"input,omitempty"` // with Allow: run with this input instead; it is judged again
	Stop   bool            `json:"stop,omitempty"`  // with Deny: end the turn as well
	Rule   *Origin         `json:"rule,omitempty"`  // the rule or setting that decided

	// Updates, with Allow: what the callback wants of the policy for the rest of the session
	// (Claude Code's updatedPermissions). Each is a change of its own, and on record as one.
	Updates []Update `json:"-"`
}

// Update is a change of policy that comes with an answer: rules to allow or deny, or a mode.
type Update struct {
	Rules  []string // "Bash", "Bash(ls:*)"
	Effect Effect   // of Rules: Allow or Deny
	Mode   Mode
}

// Origin says where a rule or a setting was written.
type Origin struct {
	Rule  string `json:"rule,omitempty"`  // its text: "Bash(npm run test:*)"
	Layer string `json:"layer,omitempty"` // managed, flag, local, project, user, session
	File  string `json:"file,omitempty"`
	Line  int    `json:"line,omitempty"` // from 1
	Col   int    `json:"col,omitempty"`  // from 1, in bytes
}

// Policy judges a request. Evaluate must do no I/O and be safe for concurrent
// use. One that panics, answers with an effect that does not exist, or takes
// longer than [Config.Timeout], has denied.
type Policy interface {
	Evaluate(Request) Verdict
}

// CanUseTool is the callback of seed 000: the host's own answer to a request. The
// zero Verdict is the seed's nil: no opinion. An error, a panic and a silence
// beyond [Config.Timeout] deny.
type CanUseTool func(ctx context.Context, r Request) (Verdict, error)
