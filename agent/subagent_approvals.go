package agent

import (
	"context"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// askedInRun lists the approval requests of a sub-agent's session that are in the log of its run.
// Open and answered requests are listed, oldest first.
func askedInRun(ctx context.Context, sessions *session.Sessions, run, asker string) (open []session.Record, answered []session.AnsweredApproval, err error) {
	m, err := sessions.Get(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	var ids []string // request ids of open
	answers := map[string]session.Record{}
	for r, err := range sessions.Effective(ctx, run, session.Range{After: m.ParentSeq, Until: m.Head}) {
		if err != nil {
			return nil, nil, err
		}
		switch {
		case r.Payload == nil:
		case r.Kind == record.KindApprovalAsked:
			var q approval.Request
			if err := readPayload(run, r, &q); err != nil {
				return nil, nil, err
			}
			if q.Asker == asker {
				r.Seq = 0 // a seq of another log has no meaning in this log
				open, ids = append(open, r), append(ids, q.ID)
			}
		case r.Kind == record.KindApprovalResolved && len(open) > 0:
			var a approval.Answer
			if err := readPayload(run, r, &a); err != nil {
				return nil, nil, err
			}
			if _, late := answers[a.RequestID]; !late {
				answers[a.RequestID] = r
			}
		}
	}
	asked := open
	open = nil
	for i, q := range asked {
		if a, ok := answers[ids[i]]; ok {
			answered = append(answered, session.AnsweredApproval{Asked: q, Answer: a})
		} else {
			open = append(open, q)
		}
	}
	return open, answered, nil
}

func readPayload(id string, r session.Record, into any) error {
	if err := json.Unmarshal(r.Payload, into); err != nil {
		return &session.Error{
			Op: "read " + string(r.Kind), Session: id, Seq: r.Seq, Err: session.ErrCorrupt,
			Detail: err.Error(), Hint: "holdfast sessions verify " + id,
		}
	}
	return nil
}
