package sessions

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

// printChanged prints the result of a change to a session: the session's new metadata as JSON, or a
// sentence.
func printChanged(ctx context.Context, p *command.Program, s *session.Sessions, id string, asJSON bool, sentence string) error {
	m, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		return p.Out.JSON(m, false)
	}
	p.Err.Line("%s", term.Escape(sentence))
	return nil
}

// recordDoc is a record in JSON, in `sessions show --records` and in exports.
type recordDoc struct {
	Seq     int64           `json:"seq"`
	ID      string          `json:"id"`
	Time    time.Time       `json:"time"`
	Kind    session.Kind    `json:"kind"`
	Payload json.RawMessage `json:"payload"`
	Prev    session.Digest  `json:"prev"`
	Body    session.Digest  `json:"body"`
	Digest  session.Digest  `json:"digest"`
}

func newRecordDoc(r session.Record) recordDoc {
	return recordDoc{r.Seq, r.ID, r.Time, r.Kind, r.Payload, r.Prev, r.Body, r.Digest}
}
