package rewind

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// Rewrite is a rewrite of a session's transcript.
type Rewrite struct {
	Seq    int64     `json:"seq"`
	Time   time.Time `json:"time"`
	Reason string    `json:"reason"`
	By     string    `json:"by,omitempty"`
	Notes  []string  `json:"notes,omitempty"`
	Before int       `json:"before"` // items
	After  int       `json:"after"`
}

// Rewrites lists the rewrites of a session's transcript, oldest first. To get the transcript before
// a rewrite, call [session.Sessions.StateAt] with the seq before that rewrite. Rewrites takes no
// lease.
func Rewrites(ctx context.Context, s *session.Sessions, id string) ([]Rewrite, error) {
	var (
		list []Rewrite
		m    session.Meta
	)
	for r, err := range s.Effective(ctx, id, session.Range{}) {
		if err != nil {
			return nil, err
		}
		before := m.MessageCount
		d, err := session.Fold([]session.Record{r})
		if err != nil {
			return nil, err
		}
		m = m.Apply(d)
		if r.Kind != record.KindRewrite || r.Payload == nil {
			continue
		}
		var w session.Rewrite
		if err := json.Unmarshal(r.Payload, &w); err != nil {
			return nil, &session.Error{Op: "read rewrites", Session: id, Seq: r.Seq, Err: session.ErrCorrupt, Detail: err.Error()}
		}
		list = append(list, Rewrite{Seq: r.Seq, Time: r.Time, Reason: w.Reason, By: w.By, Notes: w.Notes, Before: before, After: w.Messages})
	}
	return list, nil
}
