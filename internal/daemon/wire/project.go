package wire

import (
	"cmp"
	"encoding/json"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/recordevents"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// DefaultAgent is the agent name of a [Source] that has none: a run of a single agent without a
// strategy.
const DefaultAgent = "agent"

// Source is a record with the agent and the session that it belongs to.
type Source struct {
	Agent   string // the agent's name; "" means [DefaultAgent]
	Session string // the session whose log contains the record; "" means the run's session
	session.Record
}

// Project returns the frames of a record for the clients that follow a run: none, one or several.
// The parameter seq is the record's number in the run's log; all records that a record of the run
// relays have the same seq. All frames have this seq, and all except the last have "more". Project
// is pure: the same records give the same bytes. Erased and unreadable records give no frames.
func Project(run string, seq int64, records ...Source) [][]byte {
	var all []RunMessage
	for _, r := range records {
		all = append(all, project(run, r)...)
	}
	frames := make([][]byte, 0, len(all))
	for i, m := range all {
		p := m.Position()
		p.RunID, p.Seq, p.More = run, seq, i < len(all)-1
		frames = append(frames, Encode(m))
	}
	return frames
}

// project returns the messages of one record. They are made from the record's events, or from the
// record itself if the events contain less than the protocol needs.
func project(run string, r Source) []RunMessage {
	r.Agent = cmp.Or(r.Agent, DefaultAgent)
	if r.Session == run {
		r.Session = ""
	}
	var list []RunMessage
	switch r.Kind {
	case session.KindItem, record.KindToolStarted, record.KindApprovalAsked, record.KindApprovalResolved:
		events, err := new(recordevents.Reader).Events(r.Record)
		if err != nil {
			return nil
		}
		for _, e := range events {
			list = append(list, ofEvent(run, r, e)...)
		}
	case record.KindRunEvent: // this record is about the run, not an agent
		list = read(r, ofRunEvent)
	case record.KindToolFinished: // this record contains the outcome, even for calls that did not run
		list = read(r, ofToolFinished)
	case record.KindRewrite: // there is no recorded event for a rewrite
		list = read(r, func(r Source, w *session.Rewrite) []RunMessage {
			return streamed(r, &StreamRetention{Event: Retention{Kind: w.Reason, By: w.By, Retained: w.Messages}})
		})
	case record.KindOpened, record.KindTurnOpened, record.KindTurnClosed, record.KindDecision, record.KindPolicyChanged,
		record.KindHookRan, record.KindMetaChanged, record.KindVendorMapped, record.KindWorkspaceEvent, record.KindTaskChanged, record.KindFileSaved, record.KindModelCalled, record.KindRedacted, record.KindAccess:
	}
	for _, m := range list {
		m.Common().TS = Time{r.Time}
	}
	return list
}

// ofEvent returns the messages of a recorded event.
func ofEvent(run string, r Source, e event.Event) []RunMessage {
	switch e := e.(type) {
	case event.ItemAppended:
		return ofItem(r, e.Item)
	case event.ToolStarted:
		return streamed(r, &StreamToolStart{ToolCallID: e.Use, ToolName: e.Tool})
	case event.ApprovalAsked:
		m := Permission(run, r.Agent, &e.Request)
		m.SessionID = cmp.Or(r.Session, e.Request.Asker)
		return []RunMessage{m}
	case event.ApprovalResolved:
		return newResolved(r, &e.Answer)
	}
	return nil
}

// read decodes a record's payload as a P, and returns the messages that the function of makes from
// it. If the payload is erased or is not a P, there are no messages.
func read[P any](r Source, of func(Source, *P) []RunMessage) []RunMessage {
	var payload P
	if json.Unmarshal(r.Payload, &payload) != nil {
		return nil
	}
	return of(r, &payload)
}

func streamed(r Source, e StreamEvent) []RunMessage {
	return []RunMessage{&AgentStreaming{AgentName: r.Agent, Event: e}}
}

func ofToolFinished(r Source, t *record.ToolFinished) []RunMessage {
	status := t.Outcome
	if status == "" {
		status = statusOf(t.IsError)
	}
	return streamed(r, &StreamToolFinish{
		ToolCallID: t.Use, ToolName: t.Tool, Status: status, DurationMS: t.Millis, ExitCode: t.ExitCode, Changes: t.Changes,
	})
}

func statusOf(failed bool) string {
	if failed {
		return "error"
	}
	return "completed"
}

func newResolved(r Source, a *approval.Answer) []RunMessage {
	return []RunMessage{&PermissionResolved{
		PermissionRequestID: a.RequestID, Decision: a.Decision, By: a.Actor, Via: a.Via, Scope: a.Scope,
		Reason: a.Message, Stop: a.Stop, SessionID: cmp.Or(r.Session, a.Asker), AgentName: cmp.Or(a.Agent, r.Agent),
	}}
}

// maxRequests is the maximum number of requests that an approval's details list.
const maxRequests = 64

// Permission returns the message that asks a run's clients to answer the approval request q. Its TS
// is the time of the request. The caller sets Seq and Pending.
func Permission(run, agentName string, q *approval.Request) *RequestPermission {
	m := &RequestPermission{
		RunPosition: RunPosition{Envelope: Envelope{TS: Time{q.AskedAt}, RequestID: q.ID}, RunID: run}, PermissionRequestID: q.ID,
		AgentName: cmp.Or(agentName, q.Agent, DefaultAgent), ToolName: q.Tool, ToolCallID: q.Use,
		Reason: cmp.Or(q.Reason, record.ReasonAsk), Why: q.ReasonText, Rule: q.Rule, Mode: q.Mode, Sandbox: q.Sandbox, Cwd: q.Cwd,
		Scopes: q.Scopes, Digest: q.Digest,
	}
	switch {
	case q.Asker != "": // the run's log contains the approval request of a sub-agent
		m.SessionID, m.AgentName = q.Asker, cmp.Or(q.Agent, m.AgentName)
	case q.Session != run:
		m.SessionID = q.Session
	}
	if q.Expires != nil {
		m.ExpiresAt = &Time{*q.Expires}
	}
	if len(q.Requests) == 0 {
		m.Resource = q.Tool
		return m
	}
	first := &q.Requests[0]
	m.Operation = first.Operation
	m.Resource, m.Cut = cut(first.Resource, MaxDetails)
	m.Details = details(q.Requests)
	return m
}

func details(requests []policy.Request) *Details {
	first := &requests[0]
	d := &Details{Form: first.Form}
	d.Display, d.ShownCut = cut(first.Display, MaxDetails)
	switch _, long := cut(string(first.Input), MaxDetails); {
	case long != nil:
		d.InputCut = long
	case json.Valid(first.Input):
		d.Input = first.Input
	}
	if len(requests) > 1 {
		d.Total = len(requests)
		d.Requests = multipleDetails(requests)
	}
	if d.Display == "" && d.Input == nil && d.InputCut == nil && d.Requests == nil && !d.Form {
		return nil
	}
	return d
}

// multipleDetails lists requests. All of them together have at most MaxDetails bytes.
func multipleDetails(requests []policy.Request) []Effect {
	var list []Effect
	room := MaxDetails
	for i := range requests[:min(len(requests), maxRequests)] {
		r := &requests[i]
		a := Effect{Operation: r.Operation, Cwd: r.Cwd}
		a.Resource, a.Cut = cut(r.Resource, room)
		room -= len(a.Resource)
		var shown *Truncation
		a.Shown, shown = cut(r.Display, room)
		room -= len(a.Shown)
		a.Cut = cmp.Or(a.Cut, shown)
		list = append(list, a)
	}
	return list
}

// InputRequest returns the message that requests input from the clients of a run. Its TS is the
// time of the request. The caller sets Seq and Pending.
func InputRequest(run string, in api.WaitingInput) *RequestInput {
	m := &RequestInput{
		RunPosition: RunPosition{Envelope: Envelope{TS: Time{in.AskedAt}}, RunID: run},
		AgentName:   in.AgentName, InputRequestID: in.InputRequestID,
	}
	m.Prompt, m.Cut = cut(in.Prompt, MaxText)
	return m
}
