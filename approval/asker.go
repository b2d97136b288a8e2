package approval

import (
	"context"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// Asked lists the questions that a sub-agent's session has asked in the log of the run that
// it works for, oldest first: open ones, and those that were answered.
func Asked(ctx context.Context, sessions *session.Sessions, run, asker string) (open []record.Question, answered []record.AnsweredQuestion, err error) {
	m, err := sessions.Get(ctx, run)
	if err != nil {
		return nil, nil, err
	}
	answers := map[string]json.RawMessage{}
	for r, err := range sessions.Effective(ctx, run, session.Range{After: m.ParentSeq, Until: m.Head}) {
		if err != nil {
			return nil, nil, err
		}
		switch {
		case r.Payload == nil:
		case r.Kind == record.KindApprovalAsked:
			q, err := readQuestion(run, r)
			if err != nil {
				return nil, nil, err
			}
			if q.Asker == asker {
				open = append(open, record.Question{ID: q.ID, Use: q.Use, Asker: q.Asker, Payload: r.Payload})
			}
		case r.Kind == record.KindApprovalResolved && len(open) > 0:
			a, err := readAnswer(run, r)
			if err != nil {
				return nil, nil, err
			}
			if _, late := answers[a.Question]; !late {
				answers[a.Question] = r.Payload
			}
		}
	}
	asked := open
	open = nil
	for _, q := range asked {
		if a, ok := answers[q.ID]; ok {
			answered = append(answered, record.AnsweredQuestion{Question: q, Answer: a})
		} else {
			open = append(open, q)
		}
	}
	return open, answered, nil
}
