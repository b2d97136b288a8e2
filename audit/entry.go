package audit

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// What an entry is about.
const (
	KindDecision  = "decision"  // a call was allowed or denied
	KindEffect    = "effect"    // a call ran
	KindApproval  = "approval"  // a person was asked, or answered
	KindPolicy    = "policy"    // the policy of the run changed
	KindHook      = "hook"      // hooks ran
	KindRedaction = "redaction" // content was erased
	KindSession   = "session"   // opened, forked, taken over
)

// Entry is one piece of evidence, made from one record. Digest is SHA-256 of the
// entry's canonical JSON (RFC 8785) without Digest; Prev is the Digest of the
// session's entry before it. So an export can be checked by itself.
type Entry struct {
	Session string    `json:"session"`
	Seq     int64     `json:"seq"`
	Time    time.Time `json:"time"`
	Kind    string    `json:"kind"`
	Action  string    `json:"action"` // "allow", "deny", "ask", "run", "answer", "grant", "mode", "opened" …

	Actor    Actor  `json:"actor"`               // who decided or did it
	OnBehalf string `json:"on_behalf,omitempty"` // of whom: the account and the agent, "ann (main)"

	Use       string         `json:"use_id,omitempty"`
	Tool      string         `json:"tool,omitempty"`
	Resources []Resource     `json:"resources,omitempty"`
	Requests  []string       `json:"requests,omitempty"` // digests of exactly what was asked
	Rule      *policy.Origin `json:"rule,omitempty"`
	Mode      string         `json:"mode,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	Sandbox   string         `json:"sandbox,omitempty"`
	Profile   string         `json:"sandbox_profile,omitempty"`

	Outcome  string           `json:"outcome,omitempty"` // of an effect: ok, error, unknown
	ExitCode *int             `json:"exit_code,omitempty"`
	Millis   int64            `json:"ms,omitempty"`
	Changes  []session.Change `json:"changes,omitempty"`

	Erased bool   `json:"erased,omitempty"` // the record's content was erased
	Record string `json:"record"`           // digest of the log's record
	Prev   string `json:"prev"`
	Digest string `json:"digest"`
}

// Actor is who decided. Kind is person, rule, mode, hook, policy, callback, grant,
// sandbox, nobody or program.
type Actor struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
	Via  string `json:"via,omitempty"` // the client through which a person answered
}

// Resource is one thing that a call would touch.
type Resource struct {
	Operation string `json:"operation"`
	Name      string `json:"name"`
}

// ReadOptions picks entries.
type ReadOptions struct {
	Kinds []string
	Since time.Time
	Until time.Time
	Tool  string
	Actor string // kind or name
}

// Read yields the evidence of a session, oldest first. The chain of Prev and Digest
// is over all entries, also those that o leaves out.
func Read(ctx context.Context, s *session.Sessions, id string, o *ReadOptions) iter.Seq2[Entry, error] {
	return read(ctx, s, id, o)
}

func read(context.Context, *session.Sessions, string, *ReadOptions) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) { yield(Entry{}, errors.New("audit: not built")) }
}
