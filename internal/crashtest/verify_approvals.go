package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/internal/history"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// ApprovalState is what a session's log contains about one approval request, and its outcome.
type ApprovalState struct {
	Question approval.Request
	Answers  []approval.Answer // more than one is a fault
	Started  int               // number of starts of its tool use
	Early    bool              // the tool use started before the answer
	Result   string            // the result that the model received, or ""
	Runs     Runs
}

// Stage returns the current stage of an approval request.
func (a *ApprovalState) Stage() string {
	switch {
	case a.Result != "":
		return "done"
	case a.Started > 0:
		return "running"
	case len(a.Answers) > 0:
		return "answered"
	}
	return "open"
}

// ReadApprovals reads all approval requests of a session from a store, and the ledger at path. run
// is the session whose log contains the requests: the session for which this one works, or the
// session itself. unasked are the tool uses for which a kill prevented the approval request. This
// is possible because a model's answer is recorded before its approval requests, in a separate
// append (for a sub-agent, in another log). Such a call must not have run; if it ran, that is an
// error.
func ReadApprovals(ctx context.Context, store session.Store, run, id, ledger string) (list []*ApprovalState, unasked []string, err error) {
	ran, err := ReadLedger(ledger)
	if err != nil {
		return nil, nil, err
	}
	s := session.New(store, nil)
	recs, err := read(ctx, s, id)
	if err != nil {
		return nil, nil, err
	}
	r := approvalReader{byUse: map[string]*ApprovalState{}, byID: map[string]*ApprovalState{}, answered: map[string]time.Time{}}
	if run != id {
		asked, err := read(ctx, s, run)
		if err != nil {
			return nil, nil, err
		}
		for _, rec := range asked {
			if err := r.addOf(id, rec); err != nil {
				return nil, nil, fmt.Errorf("run %s, record %d: %w", run, rec.Seq, err)
			}
		}
	}
	for _, rec := range recs {
		if err := r.add(rec); err != nil {
			return nil, nil, fmt.Errorf("session %s, record %d: %w", id, rec.Seq, err)
		}
	}
	for use, a := range r.byUse {
		a.Runs = ran[id][use]
	}
	for _, use := range r.unasked {
		if n := ran[id][use].Times; n > 0 {
			return nil, nil, fmt.Errorf("session %s: %s ran %d times without an approval request", id, use, n)
		}
	}
	return r.list, r.unasked, nil
}

type approvalReader struct {
	list        []*ApprovalState
	byUse, byID map[string]*ApprovalState
	answered    map[string]time.Time // time of the first answer, by the id of the approval request
	unasked     []string
}

// addOf processes a record of the run's log: an approval request of the session's agent, or an
// answer to one.
func (r *approvalReader) addOf(id string, rec session.Record) error {
	switch rec.Kind {
	case record.KindApprovalAsked:
		var q struct {
			Asker string `json:"asker"`
		}
		if err := json.Unmarshal(rec.Payload, &q); err != nil || q.Asker != id {
			return err
		}
		return r.add(rec)
	case record.KindApprovalResolved:
		var ans approval.Answer
		if err := json.Unmarshal(rec.Payload, &ans); err != nil || r.byID[ans.RequestID] == nil {
			return err
		}
		return r.add(rec)
	}
	return nil
}

func (r *approvalReader) add(rec session.Record) error {
	switch rec.Kind {
	case record.KindApprovalAsked:
		a := &ApprovalState{}
		if err := json.Unmarshal(rec.Payload, &a.Question); err != nil {
			return err
		}
		if r.byUse[a.Question.Use] != nil {
			return fmt.Errorf("%s was asked about twice", a.Question.Use)
		}
		r.list = append(r.list, a)
		r.byUse[a.Question.Use], r.byID[a.Question.ID] = a, a
	case record.KindApprovalResolved:
		var ans approval.Answer
		if err := json.Unmarshal(rec.Payload, &ans); err != nil {
			return err
		}
		a := r.byID[ans.RequestID]
		if a == nil {
			return fmt.Errorf("%s answers no approval request", ans.RequestID)
		}
		if len(a.Answers) == 0 {
			r.answered[ans.RequestID] = rec.Time
		}
		a.Answers = append(a.Answers, ans)
	case record.KindToolStarted:
		var s record.ToolStarted
		if err := json.Unmarshal(rec.Payload, &s); err != nil {
			return err
		}
		if a := r.byUse[s.Use]; a != nil {
			a.Started++
			a.Early = a.Early || len(a.Answers) == 0 || rec.Time.Before(r.answered[a.Question.ID])
		} else if s.Tool == "Effect" {
			return fmt.Errorf("%s started without an approval request", s.Use)
		}
	case session.KindItem:
		return r.item(rec)
	}
	return nil
}

func (r *approvalReader) item(rec session.Record) error {
	stored, err := record.ReadItem(rec.Payload)
	if err != nil || len(stored.Item.ResultIDs()) == 0 {
		return err
	}
	it, err := stored.Item.Decode()
	if err != nil {
		return err
	}
	for _, p := range it.Parts {
		res, ok := p.(transcript.ToolResult)
		switch {
		case !ok:
		case r.byUse[res.UseID] != nil:
			r.byUse[res.UseID].Result = res.Text()
		case res.Text() == history.NotRun:
			r.unasked = append(r.unasked, res.UseID)
		}
	}
	return nil
}

// Check returns an error if an approval request was not handled correctly. Over means that the
// session has ended. In that case, every request must have an answer and a result.
func (a *ApprovalState) Check(over bool) error {
	use := a.Question.Use
	switch {
	case len(a.Answers) > 1:
		return fmt.Errorf("%s has %d answers", use, len(a.Answers))
	case a.Early:
		return fmt.Errorf("%s started before there was an answer", use)
	case a.Started > 1 || a.Runs.Times > 1:
		return fmt.Errorf("%s started %d times and ran %d times", use, a.Started, a.Runs.Times)
	case a.Runs.Times > a.Started:
		return fmt.Errorf("%s ran but its start is not recorded", use)
	case len(a.Answers) == 0 && over:
		return fmt.Errorf("%s was never answered", use)
	case len(a.Answers) == 0:
		return nil
	case !a.Answers[0].Decision.Allows() && a.Started > 0:
		return fmt.Errorf("%s was denied and started", use)
	case over && a.Result == "":
		return fmt.Errorf("%s has no result", use)
	case over && a.Answers[0].Decision.Allows() && a.Runs.Times == 0 && a.Result != history.OutcomeUnknown:
		return fmt.Errorf("%s was allowed but never ran; the model was told %q", use, a.Result)
	}
	return nil
}
