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

// What an entry is about.
const (
	KindDecision  = "decision"  // a call was allowed or denied
	KindEffect    = "effect"    // a call ran
	KindApproval  = "approval"  // a person was asked, or answered
	KindPolicy    = "policy"    // the policy of the run changed
	KindHook      = "hook"      // hooks ran
	KindRedaction = "redaction" // content was erased
	KindSession   = "session"   // opened, forked
	KindRun       = "run"       // a run was started, steered, given input, stopped, or has ended
	KindAccess    = "access"    // somebody was let in to the daemon or refused, or a token was made or revoked
)

// Kinds lists what entries can be about.
func Kinds() []string {
	return []string{KindSession, KindRun, KindDecision, KindEffect, KindApproval, KindPolicy, KindHook, KindRedaction, KindAccess}
}

// The actions of decisions and questions are allow, deny and ask. Those of what else
// entries are about:
const (
	actionRun    = "run"    // a call
	actionAnswer = "answer" // a question
	actionMode   = "mode"   // the mode was set
	actionGrant  = "grant"  // a person's decision counts for the session
	ActionRevoke = "revoke" // a grant or a token was taken back
	actionPatch  = "patch"  // path rules were added
	actionLimit  = "limit"  // a skill allows, or leaves only, some tools until a turn ends
	actionEnd    = "end"    // the run ended, and its grants and patches with it
	actionFire   = "fire"   // hooks were told, and none of them intervened
	actionErase  = "erase"  // content
	actionRewind = "rewind" // a file is put back to what it was; its digests are those before and after
	actionOpen   = "open"   // a session
	actionFork   = "fork"   // a session off another
	actionErased = "erased" // what it was is erased

	actionStart     = "start"     // a run
	actionContinue  = "continue"  // a run that had ended
	actionSteer     = "steer"     // a run got a text to heed
	actionInput     = "input"     // a run got the input that it had asked for
	actionStop      = "stop"      // a run was cancelled
	actionComplete  = "complete"  // a run has done its work
	actionFail      = "fail"      // a run has failed
	actionInterrupt = "interrupt" // the program that ran a run has ended

	ActionLogin  = "login"  // a browser came in with the code of a link
	ActionLogout = "logout" // and left
	ActionLink   = "link"   // a link that logs a browser in once was made
	ActionToken  = "token"  // a token was made; ActionRevoke is that one was taken back
	ActionRefuse = "refuse" // a wrong code or token
)

// Outcomes of an effect. Of an answer the outcome is what was decided: "allow",
// "deny", "allow-session", "deny-session"; of hooks it is ok or error; of a grant and
// a mode what was granted or set.
const (
	outcomeOK      = "ok"
	outcomeError   = "error"
	outcomeUnknown = record.OutcomeUnknown // it was started, and nothing says how it ended
	outcomeNotRun  = record.OutcomeNotRun  // it was started on record, and then not run
	// outcomeBackground is that of a start after which the turn went on without waiting.
	// How it ended another entry says.
	outcomeBackground = "background"
)

// Entry is one piece of evidence, made from one record: a call that ran from the
// record that says how it ended, one of unknown outcome from the record of its start. One
// that went on in the background has two.
// Digest is SHA-256, in hexadecimal, of the entry's canonical JSON (RFC 8785) without
// Digest; Prev is the Digest of the session's entry before it, "" of the first. So an
// export can be checked by itself.
type Entry struct {
	Session string    `json:"session"`
	Seq     int64     `json:"seq"`
	Time    time.Time `json:"time"` // UTC, whole milliseconds
	Kind    string    `json:"kind"`
	Action  string    `json:"action"` // "allow", "deny", "ask", "run" …

	Actor      Actor  `json:"actor"`               // who decided or did it
	From       string `json:"from,omitempty"`      // where an access came from: an address, or "unix uid 1000 pid 77"
	OnBehalfOf string `json:"on_behalf,omitempty"` // of whom: the account, and the agent unless it is the main one: "ann", "ann (tests)"

	Use       string         `json:"use_id,omitempty"`
	Tool      string         `json:"tool,omitempty"`
	Event     string         `json:"event,omitempty"` // that hooks were told of
	Resources []Resource     `json:"resources,omitempty"`
	Requests  []string       `json:"requests,omitempty"` // digests of exactly what was asked
	Rule      *policy.Origin `json:"rule,omitempty"`
	Mode      string         `json:"mode,omitempty"`
	Reason    string         `json:"reason,omitempty"`
	Sandbox   string         `json:"sandbox,omitempty"`
	Profile   string         `json:"sandbox_profile,omitempty"`
	Question  string         `json:"question,omitempty"` // the id of the question that was asked or answered
	Grant     string         `json:"grant,omitempty"`    // the id of the grant that decided, was given or was revoked
	Policy    int            `json:"policy_version,omitempty"`
	Hooks     []HookRun      `json:"hooks,omitempty"` // that ran

	Outcome  string              `json:"outcome,omitempty"`
	ExitCode *int                `json:"exit_code,omitempty"`
	Millis   int64               `json:"ms,omitempty"`
	Changes  []record.FileChange `json:"changes,omitempty"` // files that the tool changed, with SHA-256 before and after

	Erased bool   `json:"erased,omitempty"` // the record's content was erased
	Record string `json:"record"`           // digest of the log's record
	Prev   string `json:"prev"`
	Digest string `json:"digest"`
}

// The kinds of actors.
const (
	actorPerson   = "person"   // somebody who answered, or changed the policy
	actorRule     = "rule"     // of settings or flags; Name is its text, Entry.Rule says where it stands
	actorHook     = "hook"     //
	actorPolicy   = "policy"   // a limit or a policy of the host
	actorCallback = "callback" // the host's canUseTool
	actorGrant    = "grant"    // what a person decided earlier in the run; Name is its id
	actorSandbox  = "sandbox"  // what the sandbox would refuse, or holds
	actorNobody   = "nobody"   // nobody was there to ask, or time ran out
	actorProgram  = "program"  // Holdfast itself: an interrupt, a restart
	actorUnknown  = "unknown"  // it is erased, or showed a wrong credential
)

// Actor is who decided or did something.
type Actor struct {
	Kind string `json:"kind"`
	Name string `json:"name,omitempty"`
	Via  string `json:"via,omitempty"` // the client through which a person answered
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

// Resource is one thing that a call would touch.
type Resource struct {
	Operation string `json:"operation,omitempty"` // a policy.Operation; folder, session, scope, records, strategy, agent, token or login where it is no call
	Name      string `json:"name"`
}

// HookRun is one hook's part in an event: what package hook has on record of it.
type HookRun struct {
	Name   string `json:"name"`
	Digest string `json:"digest,omitempty"` // of its definition and its script
	Type   string `json:"type"`             // function, command, http
	Source string `json:"source,omitempty"` // file:line
	Millis int64  `json:"ms"`
	Exit   *int   `json:"exit_code,omitempty"`
	Effect string `json:"effect,omitempty"` // what it wanted: deny, block, allow, input …
	Reason string `json:"reason,omitempty"`
	Error  string `json:"error,omitempty"`
	Rerun  bool   `json:"again,omitempty"` // about an input that was changed since the call was first put to it
}

// seal fills in the chain.
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

// CheckAfter reports whether the entry's digest fits its content and the entry follows
// the one whose digest is prev, "" for the first of a session.
func (e *Entry) CheckAfter(prev string) error {
	sum, err := e.sum()
	switch {
	case err != nil:
		return err
	case sum != e.Digest:
		return fmt.Errorf("audit: entry %s/%d does not match its digest", e.Session, e.Seq)
	case prev != e.Prev:
		return fmt.Errorf("audit: entry %s/%d does not follow the one before it", e.Session, e.Seq)
	}
	return nil
}

// ReadOptions picks entries. The zero value picks all.
type ReadOptions struct {
	Kinds []string  // of these only
	Since time.Time // not before
	Until time.Time // before
	Tool  string
	Actor string // kind or name
}

// Read yields the evidence of a session, its parents' included, oldest first. The
// chain of Prev and Digest is over all entries, also those that o leaves out; what is
// appended to a log later goes on with the chain, but for calls that still run.
//
// A record that does not match its digests, or that cannot be read, yields an error
// that wraps [session.ErrCorrupt] with its seq, and reading goes on behind it. Memory
// does not grow with the log.
func Read(ctx context.Context, s *session.Sessions, id string, o *ReadOptions) iter.Seq2[Entry, error] {
	return read(ctx, s, id, o)
}

// picks reports whether o asks for the entry.
func (o *ReadOptions) picks(e *Entry) bool {
	return o == nil || (len(o.Kinds) == 0 || slices.Contains(o.Kinds, e.Kind)) &&
		(o.Since.IsZero() || !e.Time.Before(o.Since)) && (o.Until.IsZero() || e.Time.Before(o.Until)) &&
		(o.Tool == "" || o.Tool == e.Tool) && (o.Actor == "" || o.Actor == e.Actor.Kind || o.Actor == e.Actor.Name)
}
