package sessions

import (
	"context"
	"encoding/json"
	"time"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
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

// The states of a session, as its log and its lease show them.
const (
	stateIdle    = "idle"
	stateRunning = "running"
	stateWaiting = "waiting" // for an answer
	stateCrashed = "crashed" // a turn is open or a run is not finished, but no process runs it
	stateDamaged = "damaged" // the session's log or lease cannot be read
)

// state returns the session's state. It looks at the last turn. If that turn is open, a run is not
// finished or an approval is pending, it also looks at the lease holder. A log that has items but
// no turn was saved or imported, so the session is idle. Records that anyone may append, and
// records between turns, do not show the state of a turn. asking is the result of
// [session.Sessions.OpenApprovals].
func state(ctx context.Context, s *session.Sessions, m session.Meta, asking map[string]int) (string, *session.Lease) {
	runs, asks := m.Run == string(api.StatusRunning), m.OpenApprovals+asking[m.ID] > 0
	over, wants, given := true, false, map[string]bool{}
	most := session.Range{Reverse: true}
	if runs {
		most.Limit = 1000 // the log of a run with several agents contains only records about the run
	}
walk:
	for r, err := range s.Records(ctx, m.ID, most) {
		if err != nil {
			return stateDamaged, nil
		}
		switch r.Kind {
		case record.KindRunEvent:
			var e wire.RunEvent
			if runs && r.Payload != nil && json.Unmarshal(r.Payload, &e) == nil {
				given[e.InputID] = given[e.InputID] || e.Event == wire.RunInputGiven
				wants = wants || e.Event == wire.RunInputAsked && !given[e.InputID]
			}
		case record.KindTurnOpened, record.KindApprovalAsked, record.KindToolStarted:
			over = false
			break walk
		case record.KindTurnClosed, record.KindOpened, record.KindRewrite, record.KindRedacted:
			break walk
		}
	}
	if over && !runs && !asks {
		return stateIdle, nil
	}
	held, err := s.Lease(ctx, m.ID)
	switch {
	case err != nil:
		return stateDamaged, nil
	case asks, wants && held != nil:
		return stateWaiting, held
	case held == nil:
		return stateCrashed, nil
	}
	return stateRunning, held
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
