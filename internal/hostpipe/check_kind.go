package hostpipe

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/tool/tasks"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// A log outlives the container, and the session may be resumed outside of the container. Records
// that permit something must therefore not come from the container.

// checkKind refuses a record that only the host may write, because of its kind or its content.
func (b *limits) checkKind(ctx context.Context, id string, r *session.Record) error {
	no := func(why string) error {
		return &session.Error{Op: "append", Session: id, Seq: r.Seq, Err: ErrRefused, Detail: string(r.Kind) + ": " + why}
	}
	switch r.Kind {
	case session.KindItem, record.KindRewrite: // the transcript checks these records when they are added to it
		return nil
	case record.KindTurnOpened:
		return checkPayload[record.TurnOpened](r)
	case record.KindTurnClosed:
		return checkPayload[record.TurnClosed](r)
	case record.KindModelCalled:
		return checkPayload[record.ModelCalled](r)
	case record.KindToolStarted:
		return checkPayload[record.ToolStarted](r)
	case record.KindToolFinished:
		return checkPayload[record.ToolFinished](r)
	case record.KindDecision:
		return checkPayload[policy.Decision](r)
	case record.KindHookRan:
		return checkPayload[record.HookRan](r)
	case record.KindFileSaved:
		return checkSaved(r, no)
	case record.KindTaskChanged: // the host only displays tasks
		return checkPayload[tasks.Change](r)
	case record.KindApprovalAsked, record.KindMetaChanged, record.KindApprovalResolved, record.KindPolicyChanged:
	default:
		return no("only the host writes records of this kind")
	}
	if err := uniqueKeys(r); err != nil {
		return err
	}
	switch r.Kind {
	case record.KindApprovalAsked:
		return b.checkApproval(ctx, id, r, no)
	case record.KindApprovalResolved:
		return b.checkAnswer(ctx, id, r, no)
	case record.KindPolicyChanged:
		return b.checkChange(ctx, id, r, no)
	}
	p, err := readPayload[session.MetaPatch](r)
	title := session.MetaPatch{Title: p.Title, By: p.By}
	if err == nil && p != title {
		err = no("it may change only the title")
	}
	return err
}

// maxSavedRecord is the maximum size of a record with a file's content.
const maxSavedRecord = record.MaxSaved + 64<<10

// checkSaved accepts the saved content of a file in the container, up to a size. The host never writes
// it to its own files. Only the host may rewind.
func checkSaved(r *session.Record, no func(string) error) error {
	if len(r.Payload) > maxSavedRecord {
		return no(fmt.Sprintf("it has more than %d MiB", maxSavedRecord>>20))
	}
	f, err := readPayload[record.FileSaved](r)
	switch {
	case err != nil:
		return err
	case f.Rewind != nil:
		return no("only the host restores files")
	case f.SameAs >= r.Seq || f.SameAs < 0:
		return no("it names a later record")
	}
	return uniqueKeys(r)
}

// checkChange accepts the end of a run, a stricter policy, a mode that permits nothing by itself, and
// a grant that matches a recorded answer of the user.
func (b *limits) checkChange(ctx context.Context, id string, r *session.Record, no func(string) error) error {
	var c policy.Change
	if err := c.Parse(r.Payload); err != nil { // a session with an invalid change could not be resumed
		return &session.Error{Op: "append", Session: id, Seq: r.Seq, Err: session.ErrInvalid, Detail: err.Error()}
	}
	switch {
	case c.Revoke != "":
		return no("only the host revokes a grant")
	case c.Patch != nil && (len(c.Patch.Allow) > 0 || c.Patch.Default == policy.Allow):
		return no("it allows something")
	case c.Grant != nil && c.Grant.Effect != policy.Deny:
		granted, err := b.granted(ctx, id, c.Grant)
		if err == nil && !granted {
			err = no("no recorded answer grants it")
		}
		return err
	}
	if c.Mode != "" && !AllowedFromContainer(c.Mode) {
		return no("mode " + string(c.Mode) + " can be set only by the host")
	}
	return nil
}

// AllowedFromContainer reports whether the process in the container may set a mode. It may set a
// mode that permits nothing by itself.
func AllowedFromContainer(m policy.Mode) bool {
	switch m {
	case policy.ModeDefault, policy.ModePlan, policy.ModeDontAsk, policy.ModeRestricted, policy.ModeSilent:
		return true
	}
	return false
}

// granted reports whether a recorded answer matches a grant.
func (b *limits) granted(ctx context.Context, id string, g *policy.Grant) (bool, error) {
	if g.Question == "" {
		return false, nil
	}
	m, err := b.meta(ctx, id)
	if err != nil || m == nil {
		return false, err
	}
	var answer *approval.Answer
	for r, err := range b.sessions.Store().Read(ctx, id, session.Range{Reverse: true}) {
		if err != nil {
			return false, err
		}
		switch r.Kind {
		case record.KindApprovalResolved:
			if a, err := readPayload[approval.Answer](&r); err == nil && a.RequestID == g.Question {
				answer = &a // only the first answer applies
			}
		case record.KindApprovalAsked:
			if q, err := readPayload[approval.Request](&r); err == nil && q.ID == g.Question {
				return answer != nil && sameGrant(q, *answer, g), nil
			}
		}
	}
	return false, nil
}

// sameGrant reports whether a grant is what an answer to a request produces.
func sameGrant(q approval.Request, a approval.Answer, g *policy.Grant) bool {
	want, err := q.Grant(a)
	return err == nil && want.Effect == g.Effect && want.Tool == g.Tool && want.Operation == g.Operation &&
		want.Resource == g.Resource && want.Cwd == g.Cwd && want.Address == g.Address && want.Scope == g.Scope && want.Weak == g.Weak &&
		(want.Confined == g.Confined || g.Confined) && (want.Dir == g.Dir || want.Dir == "")
}

// checkPayload refuses a payload that cannot be decoded as a payload of its kind.
func checkPayload[T any](r *session.Record) error {
	_, err := readPayload[T](r)
	return err
}

func readPayload[T any](r *session.Record) (v T, err error) {
	if r.Payload == nil || json.Unmarshal(r.Payload, &v) != nil {
		return v, &session.Error{Op: "append", Seq: r.Seq, Err: session.ErrInvalid, Detail: string(r.Kind) + ": invalid payload"}
	}
	return v, nil
}
