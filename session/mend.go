package session

import (
	"context"
	"slices"

	"github.com/holdfast-dev/holdfast/transcript"
)

// mend makes the session fit to go on after whatever ended its last run: every
// tool that was running is finished, every tool use answered, the turn closed.
// It is one batch, and nothing at all for a session that ended well.
func (r *Restored) mend(ctx context.Context, f *folder) error {
	var drafts []Draft
	add := func(k Kind, payload any) error {
		d, err := NewDraft(k, payload)
		drafts = append(drafts, d)
		return err
	}
	for _, t := range f.s.Running {
		if err := add(KindToolFinished, ToolFinished{Use: t.Use, Tool: t.Tool, IsError: true}); err != nil {
			return err
		}
		r.notice("tool %s (%s) was running when the session stopped: its outcome is unknown", t.Tool, t.Use)
	}
	mended, err := r.mendTranscript(f)
	if err != nil {
		return err
	}
	drafts = append(drafts, mended...)
	if f.s.OpenTurn != "" {
		if err := add(KindTurnClosed, TurnClosed{Turn: f.s.OpenTurn, Reason: "interrupted"}); err != nil {
			return err
		}
		r.notice("turn %s was interrupted", f.s.OpenTurn)
	}
	return r.apply(ctx, f, drafts...)
}

// mendTranscript answers tool uses that wait at the end, and rewrites a
// transcript that breaks the pairing rule anywhere else.
func (r *Restored) mendTranscript(f *folder) ([]Draft, error) {
	t, err := transcript.Of(f.s.Items...)
	if err != nil {
		return r.repair(f)
	}
	var drafts []Draft
	for _, use := range t.OpenUses() {
		it := transcript.UnknownOutcome(use.ID)
		// A fork does not know what its parent had started.
		if !f.started(use.ID) && r.Log.Meta().Parent == "" {
			it = transcript.NeverRan(use.ID)
			r.notice("tool use %s (%s) had not started when the session stopped: it was not run", use.Name, use.ID)
		}
		it.ID, it.Time = r.Log.s.NewID(), r.Log.s.opt.Clock()
		e, err := transcript.Encode(it)
		if err != nil {
			return nil, err
		}
		if err := t.Append(e); err != nil {
			return nil, err
		}
		drafts = append(drafts, ItemDraft(e, false, nil))
	}
	r.Transcript = t
	return drafts, nil
}

func (f *folder) started(use string) bool {
	return slices.ContainsFunc(f.s.Running, func(s ToolStarted) bool { return s.Use == use })
}

func (r *Restored) repair(f *folder) ([]Draft, error) {
	items, notes, err := transcript.Repair(f.s.Items, r.Log.s.NewID)
	if err != nil {
		return nil, err
	}
	if r.Transcript, err = transcript.Of(items...); err != nil {
		return nil, err
	}
	w := Rewrite{Reason: "repair", By: "restore", Messages: len(items)}
	for _, n := range notes {
		w.Notes = append(w.Notes, n.String())
		r.notice("%s", n)
	}
	for _, e := range items {
		w.Items = append(w.Items, e.JSON)
	}
	d, err := NewDraft(KindRewrite, w)
	return []Draft{d}, err
}
