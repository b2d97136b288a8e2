package audit

import (
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// The kinds of entries.
const (
	KindDecision  = "decision"  // a call was allowed or denied
	KindEffect    = "effect"    // a call ran
	KindApproval  = "approval"  // an approval was requested or answered
	KindPolicy    = "policy"    // the policy of the run changed
	KindHook      = "hook"      // hooks ran
	KindRedaction = "redaction" // content was erased
	KindSession   = "session"   // opened, forked
	KindRun       = "run"       // a run was started, steered, given input, stopped, or ended
	KindAccess    = "access"    // a login to the daemon, a rejected credential, or a token that was created or revoked
)

// Kinds lists the kinds of entries.
func Kinds() []string {
	return []string{KindSession, KindRun, KindDecision, KindEffect, KindApproval, KindPolicy, KindHook, KindRedaction, KindAccess}
}

// The actions of decisions and approvals are allow, deny and ask. The actions of other entries
// are:
const (
	actionRun    = "run"    // a call ran
	actionAnswer = "answer" // an answer to an approval request
	actionMode   = "mode"   // the mode was set
	actionGrant  = "grant"  // a decision was made that applies for the rest of the session
	ActionRevoke = "revoke" // a grant or a token was revoked
	actionPatch  = "patch"  // path rules were added
	actionLimit  = "limit"  // a skill allows some tools for the rest of the turn, or limits the turn to them
	actionEnd    = "end"    // the run ended, and its grants and patches ended with it
	actionFire   = "fire"   // hooks ran, and none of them intervened
	actionErase  = "erase"  // content was erased
	actionRewind = "rewind" // a file was restored; its digests are those before and after
	actionOpen   = "open"   // a session was created
	actionFork   = "fork"   // a session was forked from another
	actionErased = "erased" // the record was erased, so the kind of entry is unknown

	actionStart     = "start"     // a run started
	actionContinue  = "continue"  // an ended run was continued
	actionSteer     = "steer"     // a run received a text to follow
	actionWithdraw  = "withdraw"  // a text to follow was taken back, or a hook refused it
	actionInput     = "input"     // a run received input that it had requested
	actionStop      = "stop"      // a run was cancelled, or one of its sub-agents was stopped
	actionComplete  = "complete"  // a run completed
	actionFail      = "fail"      // a run failed
	actionInterrupt = "interrupt" // the program that executed a run ended

	ActionLogin  = "login"  // a browser logged in with the code of a link
	ActionLogout = "logout" // a browser logged out
	ActionLink   = "link"   // a link for one login was created
	ActionToken  = "token"  // a token was created; ActionRevoke means that one was revoked
	ActionRefuse = "refuse" // a login code or token was invalid
)

// Outcomes of an effect. The outcome of an answer is the decision: "allow", "deny",
// "allow-session", "deny-session"; the outcome of hooks is ok or error; the outcome of a grant or a
// mode is the value that was granted or set.
const (
	outcomeOK      = "ok"
	outcomeError   = "error"
	outcomeUnknown = record.OutcomeUnknown // it started, and its end is not recorded
	outcomeNotRun  = record.OutcomeNotRun  // its start was recorded, but it did not run
	// outcomeBackground is the outcome of a start after which the turn did not wait for the
	// end. Another entry has its outcome.
	outcomeBackground = "background"
)

// Entry is one audit entry, derived from one record. The entry of a call is derived from the record
// of its end, or from the record of its start if the outcome is unknown. A background task has two
// entries. Digest is the SHA-256, in hexadecimal, of the entry's canonical JSON (RFC 8785) without
// Digest. Prev is the Digest of the previous entry of the session; for the first entry it is "". An
// export can therefore be verified on its own.
type Entry struct {
	Session string    `json:"session"`
	Seq     int64     `json:"seq"`
	Time    time.Time `json:"time"` // UTC, whole milliseconds
	Kind    string    `json:"kind"`
	Action  string    `json:"action"` // "allow", "deny", "ask", "run" …

	Actor      Actor  `json:"actor"`               // who decided or acted
	From       string `json:"from,omitempty"`      // the origin of an access: an address, or "unix uid 1000 pid 77"
	OnBehalfOf string `json:"on_behalf,omitempty"` // the account, followed by the agent unless it is the main one: "ann", "ann (tests)"

	Use       string         `json:"use_id,omitempty"`
	Tool      string         `json:"tool,omitempty"`
	Event     string         `json:"event,omitempty"` // the hook event
	Resources []Resource     `json:"resources,omitempty"`
	Requests  []string       `json:"requests,omitempty"` // digests of the exact requests
	Rule      *policy.Origin `json:"rule,omitempty"`
	Mode      string         `json:"mode,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	Sandbox   string         `json:"sandbox,omitempty"`
	Profile   string         `json:"sandbox_profile,omitempty"`
	Question  string         `json:"question,omitempty"` // the id of the approval request
	Grant     string         `json:"grant,omitempty"`    // the id of the grant that decided, was created or was revoked
	Policy    int            `json:"policy_version,omitempty"`
	Hooks     []HookRun      `json:"hooks,omitempty"` // the hooks that ran

	Outcome  string              `json:"outcome,omitempty"`
	ExitCode *int                `json:"exit_code,omitempty"`
	Millis   int64               `json:"ms,omitempty"`
	Changes  []record.FileChange `json:"changes,omitempty"` // files changed by the tool, with SHA-256 before and after

	Erased bool   `json:"erased,omitempty"` // the record's content was erased
	Record string `json:"record"`           // digest of the record in the log
	Prev   string `json:"prev"`
	Digest string `json:"digest"`
}

// The kinds of actors.
const (
	actorPerson   = "person"   // a person who answered, or changed the policy
	actorRule     = "rule"     // a rule of settings or flags; Name is the rule's text, Entry.Rule is where it is defined
	actorHook     = "hook"     // a hook
	actorPolicy   = "policy"   // a limit or a policy of the host program
	actorCallback = "callback" // the host program's canUseTool
	actorGrant    = "grant"    // an earlier decision for the session; Name is its id
	actorSandbox  = "sandbox"  // the sandbox, which refuses the call or runs it confined
	actorNobody   = "nobody"   // no one was available to answer, or the time limit was reached
	actorProgram  = "program"  // Holdfast itself decided, after an interrupt or a restart
	actorUnknown  = "unknown"  // the record was erased, or the credential was invalid
)

// Actor is the person or component that decided or acted.
type Actor struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
	Via  string `json:"via,omitempty"` // the client that a person used to answer
}

func (a Actor) String() string {
	s := a.Kind
	if a.Name != "" && a.Name != a.Kind {
		s += " " + a.Name
	}
	if a.Via != "" {
		s += " via " + a.Via
	}
	return s
}

// Resource is one object that a call accesses.
type Resource struct {
	Operation string `json:"operation,omitempty"` // a policy.Operation. In entries that are not about a call: folder, session, scope, records, strategy, agent, token or login
	Name      string `json:"name"`
}

// HookRun is the run of one hook for an event, as package hook records it.
type HookRun struct {
	Name   string `json:"name"`
	Digest string `json:"digest,omitempty"` // the digest of the hook's definition and script
	Type   string `json:"type"`             // function, command, http
	Source string `json:"source,omitempty"` // file:line
	Millis int64  `json:"ms"`
	Exit   *int   `json:"exit_code,omitempty"`
	Effect string `json:"effect,omitempty"` // the effect of the hook: deny, block, allow, input …
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
	Rerun  bool   `json:"again,omitempty"` // the hook ran again because the input of the call was changed
}

// seal sets Prev and Digest.
func (e *Entry) seal(prev string) error {
	e.Prev = prev
	sum, err := e.sum()
	e.Digest = sum
	return err
}

// sum computes the entry's digest.
func (e *Entry) sum() (string, error) {
	text, err := Canonical(struct {
		*Entry
		Digest string `json:"digest,omitempty"`
	}{Entry: e})
	if err != nil {
		return "", err
	}
	return session.Digest(sha256.Sum256(text)).String(), nil
}

// CheckAfter returns an error unless two conditions are met: the entry's digest matches its
// content, and the entry follows the entry with the digest prev. For the first entry of a session
// prev is "".
func (e *Entry) CheckAfter(prev string) error {
	sum, err := e.sum()
	switch {
	case err != nil:
		return err
	case sum != e.Digest:
		return fmt.Errorf("audit: entry %s/%d does not match its digest", e.Session, e.Seq)
	case prev != e.Prev:
		return fmt.Errorf("audit: entry %s/%d does not follow the previous one", e.Session, e.Seq)
	}
	return nil
}

// ReadOptions selects entries. The zero value selects all.
type ReadOptions struct {
	Kinds []string  // only these kinds
	Since time.Time // entries at or after this time
	Until time.Time // entries before this time
	Tool  string
	Actor string // the actor's kind or name
}

// Read yields the audit entries of a session and of its parents, oldest first. The chain of Prev
// and Digest covers all entries, including those that o filters out. If records are appended later,
// the existing entries stay the same, except the entry of the first call that was still running and
// all entries after it.
//
// If a record does not match its digests or cannot be read, Read yields an error that wraps
// [session.ErrCorrupt] with the record's seq, and continues with the next record. Its memory use
// does not grow with the log.
func Read(ctx context.Context, s *session.Sessions, id string, o *ReadOptions) iter.Seq2[Entry, error] {
	return read(ctx, s, id, o)
}

// picks reports whether o selects the entry.
func (o *ReadOptions) picks(e *Entry) bool {
	return o == nil || (len(o.Kinds) == 0 || slices.Contains(o.Kinds, e.Kind)) &&
		(o.Since.IsZero() || !e.Time.Before(o.Since)) && (o.Until.IsZero() || e.Time.Before(o.Until)) &&
		(o.Tool == "" || o.Tool == e.Tool) && (o.Actor == "" || o.Actor == e.Actor.Kind || o.Actor == e.Actor.Name)
}
