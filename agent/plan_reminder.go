package agent

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// exitPlanMode is the name of the tool that ends plan mode, if there is one.
const exitPlanMode = "ExitPlanMode"

// planKey is the metadata key of items about plan mode; its value is "on" or "off".
const planKey = "plan_mode"

const (
	planBegins = "Plan mode is on. Do not change anything: read, search and think. Calls that would change something are denied or need approval. "
	planByTool = "When the plan is ready, call " + exitPlanMode + " with the whole plan. The user reviews it and decides whether you proceed."
	planByText = "When the plan is ready, answer with the plan."
	planEnds   = "Plan mode is off; the permission mode is "
)

// planTracker finds in the transcript whether the model knows that plan mode is on. It reads each item
// once. Because the state is only in the transcript, it is correct after a restart and a compaction.
type planTracker struct {
	of   *transcript.Transcript
	seen int
	sent string // "on", "off" or ""
}

// remember reads the new items.
func (r *planTracker) remember(t *transcript.Transcript) {
	if r.of != t {
		*r = planTracker{of: t}
	}
	for ; r.seen < t.Len(); r.seen++ {
		e := t.At(r.seen)
		if e.Role() != transcript.RoleNotification {
			continue
		}
		if it, err := e.Decode(); err == nil && it.Metadata[planKey] != nil {
			_ = json.Unmarshal(it.Metadata[planKey], &r.sent) // an unreadable mark is ignored
		}
	}
}

// planItem tells the model that plan mode has begun or ended, unless the transcript already says
// so. The item comes last, so the provider's prompt cache stays valid.
func (l *loop) planItem() (transcript.Encoded, bool, error) {
	l.planned.remember(l.t)
	plans := l.a.guards.Plans()
	if plans == (l.planned.sent == "on") {
		return transcript.Encoded{}, false, nil
	}
	state, text := `"off"`, planEnds+string(l.a.guards.Mode())+"."
	if plans {
		state, text = `"on"`, planBegins+planByText
		if _, ok := l.a.toolNow(exitPlanMode); ok {
			text = planBegins + planByTool
		}
	}
	e, err := l.a.encode(transcript.Item{
		ID: l.a.opt.NewID(), Time: l.a.opt.Clock(), Role: transcript.RoleNotification,
		Parts:    []transcript.Part{transcript.Text{Text: text}},
		Metadata: map[string]json.RawMessage{planKey: json.RawMessage(state)},
	})
	return e, err == nil, err
}

// remind tells the model about plan mode in the middle of a turn, if needed.
func (l *loop) remind(ctx context.Context) error {
	e, ok, err := l.planItem()
	if err != nil || !ok {
		return err
	}
	return l.write(ctx, itemEntry(e, nil))
}

// isPlanMode reports whether the session resumes in plan mode, which otherwise ends with its
// process. The session does so if an approval request from plan mode is open, or was answered but
// the call has not run, and the mode was not changed after the request: the answer to a plan needs
// plan mode. Requests of sub-agents are ignored, because a sub-agent can be in plan mode when the
// session is not.
func isPlanMode(st *session.State) bool {
	asked := slices.Clone(st.OpenApprovals)
	for _, a := range st.Answered {
		asked = append(asked, a.Asked)
	}
	return slices.ContainsFunc(asked, func(r session.Record) bool {
		var q approval.Request
		planned := json.Unmarshal(r.Payload, &q) == nil && q.Mode == policy.ModePlan && q.Asker == ""
		return planned && (st.ModeSeq < r.Seq || policy.Mode(st.Mode) == policy.ModePlan)
	})
}
