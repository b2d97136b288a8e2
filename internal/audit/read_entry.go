package audit

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
)

// entryKinds contains, for each kind of record, the kind of its entry. Other records have no entry.
var entryKinds = map[session.Kind]string{
	record.KindOpened:           KindSession,
	record.KindDecision:         KindDecision,
	record.KindToolStarted:      KindEffect,
	record.KindToolFinished:     KindEffect,
	record.KindApprovalAsked:    KindApproval,
	record.KindApprovalResolved: KindApproval,
	record.KindPolicyChanged:    KindPolicy,
	record.KindHookRan:          KindHook,
	record.KindRedacted:         KindRedaction,
	record.KindRunEvent:         KindRun,
	record.KindFileSaved:        KindEffect, // only for a rewind; for a file saved by a call, the entry is the end of the call
	record.KindAccess:           KindAccess,
}

// entry makes the entry of a record, or returns nil if it has none.
func (r *reader) entry(rec *session.Record) (*Entry, error) {
	if rec.Kind == session.KindItem {
		return nil, r.item(rec.Payload)
	}
	kind, ok := entryKinds[rec.Kind]
	if !ok {
		return nil, nil
	}
	e := &Entry{
		Session: r.id, Seq: rec.Seq, Time: rec.Time.UTC(), Kind: kind, OnBehalfOf: r.user, Record: rec.Digest.String(),
	}
	if rec.Payload == nil {
		if rec.Kind == record.KindFileSaved {
			return nil, nil
		}
		r.erased(rec.Kind, e)
		return e, nil
	}
	if err := r.fill(rec, e); err != nil || e.Action == "" && (kind == KindRun || rec.Kind == record.KindFileSaved) {
		return nil, err
	}
	return e, nil
}

func (r *reader) fill(rec *session.Record, e *Entry) error {
	switch rec.Kind {
	case record.KindOpened:
		return into(rec, func(o *session.Opened) { r.opened(o, e) })
	case record.KindDecision:
		return into(rec, func(d *policy.Decision) { r.decision(d, e) })
	case record.KindToolStarted:
		return into(rec, func(s *record.ToolStarted) { r.started(s, e) })
	case record.KindToolFinished:
		return into(rec, func(f *record.ToolFinished) { r.finished(f, e) })
	case record.KindApprovalAsked:
		return r.approvalAsked(rec.Payload, e)
	case record.KindApprovalResolved:
		return r.approvalResolved(rec.Payload, e)
	case record.KindPolicyChanged:
		return into(rec, func(c *policy.Change) { changed(c, e) })
	case record.KindHookRan:
		return into(rec, func(h *hookRan) { hooked(h, e) })
	case record.KindRedacted:
		return into(rec, func(x *record.Redacted) { redacted(x, e) })
	case record.KindRunEvent:
		return into(rec, func(v *runEvent) { v.fill(e) })
	case record.KindFileSaved:
		return into(rec, func(f *record.FileSaved) { rewound(f, e) })
	case record.KindAccess:
		return into(rec, func(x *Access) { x.fill(e) })
	}
	return nil
}

// into decodes a payload.
func into[T any](rec *session.Record, use func(*T)) error {
	var v T
	if err := json.Unmarshal(rec.Payload, &v); err != nil {
		return err
	}
	use(&v)
	return nil
}

// erased makes the entry of a record whose content is erased. The entry shows only that the record
// existed, and its digest. If the content of a call's end is erased and exactly one call is
// running, the end belongs to that call.
func (r *reader) erased(k session.Kind, e *Entry) {
	e.Erased, e.Action, e.Actor = true, actionErased, Actor{Kind: actorUnknown}
	switch k {
	case record.KindOpened:
		r.user, e.OnBehalfOf = "", ""
	case record.KindToolStarted, record.KindToolFinished:
		e.Outcome = outcomeUnknown
		if k == record.KindToolFinished && len(r.running) == 1 {
			for use := range r.running {
				r.end(use)
			}
		}
	}
}

func (r *reader) opened(o *session.Opened, e *Entry) {
	r.user = o.User // a fork's parent may belong to another user
	e.OnBehalfOf, e.Action = o.User, actionOpen
	e.Actor = Actor{Kind: actorPerson, Name: o.User}
	if o.User == "" {
		e.Actor = Actor{Kind: actorProgram}
	}
	if o.CWD != "" {
		e.Resources = []Resource{{Operation: "folder", Name: o.CWD}}
	}
	if b := o.Base; b != nil {
		e.Action = actionFork
		e.Resources = append(e.Resources, Resource{Operation: "session", Name: fmt.Sprintf("%s/%d", b.Parent, b.Seq)})
	}
}

func (r *reader) decision(d *policy.Decision, e *Entry) {
	e.Action, e.Actor, e.OnBehalfOf = string(d.Effect), r.whoDecided(d), r.behalf(d.Agent)
	e.Use, e.Tool, e.Requests, e.Rule, e.Mode = d.Use, d.Tool, d.Digests, d.Rule, string(d.Mode)
	e.Reason, e.Sandbox, e.Profile, e.Grant, e.Policy = d.Reason, d.Sandbox, d.Profile, d.Grant, d.Version
	q, asked := r.approvalOf(d)
	switch {
	case len(d.Touches) > 0:
		for _, t := range d.Touches {
			e.Resources = append(e.Resources, Resource{string(t.Operation), t.Resource})
		}
	case asked && d.Input == nil:
		e.Resources = q.resources
	default:
		e.Resources = r.resourcesOf(d)
	}
	if asked && d.PersonAsked {
		e.Question = q.id
	}
	delete(r.approvals, q.id)
	if _, runs := r.running[d.Use]; !runs && d.Effect == policy.Allow { // a decision about a request of a running call is not a start
		r.decided[d.Use] = *e
	}
}

// started delays the following entries until the call has ended.
func (r *reader) started(s *record.ToolStarted, e *Entry) {
	d := r.decided[s.Use]
	delete(r.decided, s.Use)
	e.Use, e.Tool, e.Action, e.Outcome = s.Use, s.Tool, actionRun, outcomeUnknown
	e.Actor = Actor{Kind: actorProgram}
	e.Resources, e.Requests, e.Sandbox, e.Profile, e.Mode = d.Resources, d.Requests, d.Sandbox, d.Profile, d.Mode
	if d.OnBehalfOf != "" {
		e.OnBehalfOf = d.OnBehalfOf
	}
	r.running[s.Use] = e
}

func (r *reader) finished(f *record.ToolFinished, e *Entry) {
	start := r.end(f.Use)
	e.Use, e.Tool, e.Action = f.Use, f.Tool, actionRun
	e.Actor = Actor{Kind: actorProgram}
	e.Resources, e.Requests, e.Sandbox, e.Profile, e.Mode = start.Resources, start.Requests, start.Sandbox, start.Profile, start.Mode
	if start.OnBehalfOf != "" {
		e.OnBehalfOf = start.OnBehalfOf
	}
	e.ExitCode, e.Millis, e.Changes = f.ExitCode, f.Millis, f.Changes
	switch {
	case f.Outcome != "":
		e.Outcome = f.Outcome
	case f.IsError || f.ExitCode != nil && *f.ExitCode != 0:
		e.Outcome = outcomeError
	default:
		e.Outcome = outcomeOK
	}
}

// end removes the pending start of a call; the end of the call becomes the entry.
func (r *reader) end(use string) Entry {
	p, ok := r.running[use]
	if !ok {
		start := r.background[use]
		delete(r.background, use)
		return start
	}
	delete(r.running, use)
	start := *p
	*p = Entry{}
	return start
}

func changed(c *policy.Change, e *Entry) {
	e.Actor, e.Policy = whoChanged(c.By), c.Version
	switch {
	case c.Mode != "":
		e.Action, e.Mode, e.Outcome = actionMode, string(c.Mode), string(c.Mode)
	case c.Grant != nil:
		g := c.Grant
		e.Action, e.Grant, e.Tool, e.Outcome, e.Question = actionGrant, g.ID, g.Tool, string(g.Effect), g.Question
		name := g.Scope
		if name == "" {
			name = g.Resource
		}
		if name == "" {
			name = g.Tool
		}
		e.Resources = []Resource{{string(g.Operation), name}}
	case c.Revoke != "":
		e.Action, e.Grant = ActionRevoke, c.Revoke
	case c.Limit != nil:
		e.Action, e.Outcome = actionLimit, c.Limit.Name
		for _, rule := range slices.Concat(c.Limit.Rules, c.Limit.Allow) {
			e.Resources = append(e.Resources, Resource{Name: rule})
		}
	case c.Patch != nil:
		e.Action, e.Tool = actionPatch, c.Patch.Tool
		e.Resources = patched(c.Patch)
	case c.Ended:
		e.Action, e.Actor = actionEnd, Actor{Kind: actorProgram}
	}
}

func patched(p *policy.Patch) []Resource {
	var list []Resource
	op := "fs." + p.Mode
	for _, g := range p.Deny {
		list = append(list, Resource{op, "deny " + g})
	}
	for _, g := range p.Allow {
		list = append(list, Resource{op, "allow " + g})
	}
	if p.Default != "" {
		list = append(list, Resource{op, "default " + string(p.Default)})
	}
	return list
}

// hookRan is the payload of a hook.ran record.
type hookRan struct {
	Event  string    `json:"event"`
	Use    string    `json:"use_id"`
	Tool   string    `json:"tool"`
	Hooks  []HookRun `json:"hooks"`
	Silent int       `json:"quiet"`
}

// hooked describes one hook: the first that intervened, or else the first that failed, or else the
// first one.
func hooked(h *hookRan, e *Entry) {
	e.Event, e.Use, e.Tool, e.Hooks = h.Event, h.Use, h.Tool, h.Hooks
	e.Action, e.Outcome, e.Actor = actionFire, outcomeOK, Actor{Kind: actorHook}
	if len(h.Hooks) == 0 {
		e.Actor.Name = fmt.Sprintf("%d functions", h.Silent)
		return
	}
	at := slices.IndexFunc(h.Hooks, func(r HookRun) bool { return r.Effect != "" })
	if at < 0 {
		at = slices.IndexFunc(h.Hooks, func(r HookRun) bool { return r.Error != "" })
	}
	first := h.Hooks[max(0, at)]
	e.Actor.Name, e.Reason, e.ExitCode = first.Name, first.Reason, first.Exit
	if first.Effect != "" {
		e.Action = first.Effect
	}
	for _, r := range h.Hooks {
		e.Millis += r.Millis
		if r.Error != "" {
			e.Outcome = outcomeError
		}
	}
}

// rewound describes a file that a rewind restores; the record was written just before the file was
// restored.
func rewound(f *record.FileSaved, e *Entry) {
	if f.Rewind == nil {
		return
	}
	e.Action, e.Actor, e.Reason = actionRewind, whoChanged(f.Rewind.By), fmt.Sprintf("to what it was after record %d", f.Rewind.Seq)
	e.Resources = []Resource{{string(policy.OpWrite), f.Path}}
	e.Changes = []record.FileChange{{Path: f.Path, Before: f.Digest, After: f.After}}
}

func redacted(x *record.Redacted, e *Entry) {
	e.Action, e.Actor, e.Reason = actionErase, whoChanged(x.By), x.Reason
	seqs := slices.Clone(x.Seqs)
	slices.Sort(seqs)
	var spans []string
	for i := 0; i < len(seqs); {
		end := i
		for end+1 < len(seqs) && seqs[end+1] <= seqs[end]+1 {
			end++
		}
		span := fmt.Sprint(seqs[i])
		if end > i && seqs[end] != seqs[i] {
			span += fmt.Sprintf("-%d", seqs[end])
		}
		spans, i = append(spans, span), end+1
	}
	if len(spans) > 0 {
		e.Resources = []Resource{{Operation: "records", Name: strings.Join(spans, ", ")}}
	}
}
