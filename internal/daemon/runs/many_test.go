package runs_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/feed"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/record"
)

// Many concurrent runs lose no event: each is received from its first record to its end without a
// gap, and each allowed call runs once.
func TestManyRuns(t *testing.T) {
	many := 200
	if testing.Short() { // under the race detector a run takes ten times as long
		many = 40
	}
	w := begin(t, map[string]string{"writer": pushScript})
	var g sync.WaitGroup
	errs := make([]error, many)
	for i := range many {
		g.Go(func() { errs[i] = w.complete(fmt.Sprintf("run-%d", i)) })
	}
	g.Wait()
	for _, err := range errs {
		w.ok(err)
	}
	if got := len(w.did()); got != many {
		t.Errorf("%d calls ran", got)
	}
}

// complete starts a run, answers its approval request, and reads it to its end.
func (w *runsEnv) complete(id string) error {
	ctx := w.t.Context()
	if err := w.startNamed(id); err != nil {
		return err
	}
	sub, err := w.hub.Subscribe(ctx, id, 0)
	if err != nil {
		return err
	}
	defer sub.Close()
	for seq := int64(1); ; {
		e, err := sub.Next(ctx)
		if err != nil {
			return err
		}
		if e.Kind != feed.Durable {
			continue
		}
		if e.Seq != seq {
			return fmt.Errorf("run %s: got record %d, want %d", id, e.Seq, seq)
		}
		seq++
		over, err := w.handle(id, e.Records[0])
		if over || err != nil {
			return err
		}
	}
}

// handle answers an approval request and reports the end of a run.
func (w *runsEnv) handle(id string, r feed.Record) (over bool, err error) {
	switch r.Kind {
	case record.KindApprovalAsked:
		var q approval.Request
		if err := json.Unmarshal(r.Payload, &q); err != nil {
			return false, err
		}
		_, err = w.runs.Decide(w.t.Context(), id, decision(q, approval.Allow), q.Digest)
	case record.KindRunEvent:
		var e wire.RunEvent
		if err := json.Unmarshal(r.Payload, &e); err != nil {
			return false, err
		}
		if e.Status.Ended() && e.Status != api.StatusCompleted {
			err = fmt.Errorf("run %s: %s", id, e.Message)
		}
		over = e.Status.Ended()
	}
	return over, err
}
