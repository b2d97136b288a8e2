package runlog

import (
	"context"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
)

// The states of a session, as its log and its lease show them.
const (
	Idle    = "idle"
	Running = "running"
	Waiting = "waiting" // for an answer
	Crashed = "crashed" // a turn is open or a run is not finished, but no process runs it
	Damaged = "damaged" // the session's log or lease cannot be read
)

// State returns the session's state. It looks at the last turn. If that turn is open, a run is not
// finished or an approval is pending, it also looks at the lease holder. A log that has items but
// no turn was saved or imported, so the session is idle. Records that anyone may append, and
// records between turns, do not show the state of a turn. asking is the result of
// [session.Sessions.OpenApprovals]. A log that has grown since m was read is looked at again, because
// its process may have ended the turn and released the lease meanwhile.
func State(ctx context.Context, s *session.Sessions, m session.Meta, asking map[string]int) (string, *session.Lease) {
	for {
		state, held := stateAt(ctx, s, m, asking)
		if state != Crashed {
			return state, held
		}
		now, err := s.Get(ctx, m.ID)
		if err != nil || now.Head == m.Head {
			return state, held
		}
		m = now
	}
}

// stateAt is [State] for a session that does not change.
func stateAt(ctx context.Context, s *session.Sessions, m session.Meta, asking map[string]int) (string, *session.Lease) {
	runs, asks := m.Run == string(api.StatusRunning), m.OpenApprovals+asking[m.ID] > 0
	over, wants, given := true, false, map[string]bool{}
	most := session.Range{Reverse: true}
	if runs {
		most.Limit = 1000 // the log of a run with several agents contains only records about the run
	}
walk:
	for r, err := range s.Records(ctx, m.ID, most) {
		if err != nil {
			return Damaged, nil
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
		return Idle, nil
	}
	held, err := s.Lease(ctx, m.ID)
	switch {
	case err != nil:
		return Damaged, nil
	case asks, wants && held != nil:
		return Waiting, held
	case held == nil:
		return Crashed, nil
	}
	return Running, held
}
