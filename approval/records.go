package approval

import (
	"context"
	"encoding/json"
	"iter"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// newestFirst yields the approval records of a session's own log, newest first. Records before a
// fork belong to the parent and are not included.
func newestFirst(ctx context.Context, sessions *session.Sessions, m session.Meta) iter.Seq2[session.Record, error] {
	return func(yield func(session.Record, error) bool) {
		own := session.Range{After: m.ParentSeq, Until: m.Head, Reverse: true}
		for r, err := range sessions.Records(ctx, m.ID, own) {
			asks := r.Kind == record.KindApprovalAsked || r.Kind == record.KindApprovalResolved
			if err == nil && (!asks || r.Payload == nil) {
				continue
			}
			if !yield(r, err) {
				return
			}
		}
	}
}

func readRequest(id string, r session.Record) (Request, error) {
	var q Request
	if err := json.Unmarshal(r.Payload, &q); err != nil {
		return q, damaged(id, r, err)
	}
	q.Session = id
	return q, nil
}

func readAnswer(id string, r session.Record) (Answer, error) {
	var a Answer
	if err := json.Unmarshal(r.Payload, &a); err != nil {
		return a, damaged(id, r, err)
	}
	return a, nil
}

func damaged(id string, r session.Record, err error) error {
	return &session.Error{
		Op: "read " + string(r.Kind), Session: id, Seq: r.Seq, Err: session.ErrCorrupt,
		Detail: err.Error(), Hint: "holdfast sessions verify " + id,
	}
}
