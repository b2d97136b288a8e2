package logpipe

import (
	"context"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// A log outlives the container, and may be gone on with outside of it: what permits
// something there is not to come from inside.

// mayWrite refuses a record of a kind, or with a content, that is the host's to write.
func (b *bounds) mayWrite(ctx context.Context, id string, r *session.Record) error {
	no := func(why string) error {
		return &session.Error{Op: "append", Session: id, Seq: r.Seq, Err: ErrRefused, Detail: string(r.Kind) + ": " + why}
	}
	switch r.Kind {
	case session.KindItem, session.KindTurnOpened, session.KindTurnClosed, session.KindToolStarted, session.KindToolFinished,
		session.KindApprovalAsked, session.KindDecision, session.KindHookRan, session.KindRewrite:
		return nil
	case session.KindMetaChanged:
		p, err := readPayload[session.MetaPatch](r)
		if err == nil && (p.Project != nil || p.CWD != nil || p.Trashed != nil || p.Tag != nil) {
			err = no("it moves the session")
		}
		return err
	case session.KindApprovalResolved:
		a, err := readPayload[approval.Answer](r)
		if err == nil && a.Decision.Allows() {
			err = no("an answer that allows is recorded by the host")
		}
		return err
	case session.KindPolicyChanged:
		return b.mayChange(ctx, id, r, no)
	}
	return no("records of this kind are the host's")
}

// mayChange lets pass what ends a run, what is stricter, and the grant that a person's
// answer on record gives.
func (b *bounds) mayChange(ctx context.Context, id string, r *session.Record, no func(string) error) error {
	c, err := readPayload[policy.Change](r)
	if err != nil {
		return err
	}
	switch {
	case c.Revoke != "":
		return no("a grant is revoked by the host")
	case c.Patch != nil && (len(c.Patch.Allow) > 0 || c.Patch.Default == policy.Allow):
		return no("it allows something")
	case c.Grant != nil && c.Grant.Effect != policy.Deny:
		granted, err := b.granted(ctx, id, c.Grant)
		if err == nil && !granted {
			err = no("nobody has granted it")
		}
		return err
	}
	switch c.Mode {
	case "", policy.ModeDefault, policy.ModePlan, policy.ModeDontAsk, policy.ModeRestricted, policy.ModeSilent:
		return nil
	}
	return no("mode " + string(c.Mode) + " is set by the host")
}

// granted reports whether an answer on record is what a grant says.
func (b *bounds) granted(ctx context.Context, id string, g *policy.Grant) (bool, error) {
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
		case session.KindApprovalResolved:
			if a, err := readPayload[approval.Answer](&r); err == nil && a.Question == g.Question {
				answer = &a // the first one counts
			}
		case session.KindApprovalAsked:
			if q, err := readPayload[approval.Question](&r); err == nil && q.ID == g.Question {
				return answer != nil && sameGrant(q, *answer, g), nil
			}
		}
	}
	return false, nil
}

// sameGrant reports whether a grant is what an answer to a question gives.
func sameGrant(q approval.Question, a approval.Answer, g *policy.Grant) bool {
	want, err := approval.Grant(q, a)
	return err == nil && want.Effect == g.Effect && want.Tool == g.Tool && want.Operation == g.Operation &&
		want.Resource == g.Resource && want.Cwd == g.Cwd && want.Scope == g.Scope && want.Weak == g.Weak &&
		(want.Confined == g.Confined || g.Confined) && (want.Dir == g.Dir || want.Dir == "")
}

func readPayload[T any](r *session.Record) (v T, err error) {
	if r.Payload == nil || json.Unmarshal(r.Payload, &v) != nil {
		return v, &session.Error{Op: "append", Seq: r.Seq, Err: session.ErrInvalid, Detail: string(r.Kind) + ": its payload cannot be read"}
	}
	return v, nil
}
