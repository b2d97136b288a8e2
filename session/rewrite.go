package session

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Rewrite replaces the transcript by one record; see [Rewrite]. It sets w.Messages. The pairing
// rule is checked first: if it is broken, nothing is written, and the error is ErrInvalid, which
// also wraps a [*transcript.PairingError]. Open tool uses at the end are allowed. For an unknown
// w.TruncateAfter the error is ErrInvalid, with the nearest ids in its Hint.
func (l *Log) Rewrite(ctx context.Context, w Rewrite) error {
	if err := l.lock(ctx); err != nil {
		return err
	}
	defer l.unlock()
	if err := l.usable("rewrite"); err != nil {
		return err
	}
	d, err := l.rewriteDraft(ctx, w)
	if err != nil {
		return err
	}
	_, err = l.append(ctx, []Draft{d})
	return err
}

func (l *Log) rewriteDraft(ctx context.Context, w Rewrite) (Draft, error) {
	bad := func(detail string, err error) (Draft, error) {
		return Draft{}, &Error{Op: "rewrite", Session: l.id, Err: invalid{err}, Detail: detail}
	}
	if w.Reason == "" {
		return bad("the rewrite has no reason", nil)
	}
	if w.TruncateAfter != "" {
		if len(w.Items) > 0 {
			return bad("the rewrite has both items and a cut", nil)
		}
		p, err := l.s.findItem(ctx, l.Meta(), w.TruncateAfter, nil)
		if err != nil {
			return Draft{}, err
		}
		w.Messages = p.index + 1
		return NewDraft(record.KindRewrite, w)
	}
	var t transcript.Transcript
	items := make([]json.RawMessage, len(w.Items))
	for i, raw := range w.Items {
		var e transcript.Encoded
		err := e.Parse(raw)
		if err == nil {
			err = t.Append(e)
		}
		if err != nil {
			return bad(err.Error(), err)
		}
		items[i] = e.JSON
	}
	w.Items, w.Messages = items, len(items)
	return NewDraft(record.KindRewrite, w)
}

// invalid is ErrInvalid with a cause.
type invalid struct{ cause error }

func (invalid) Error() string { return ErrInvalid.Error() }

func (e invalid) Unwrap() []error { return []error{ErrInvalid, e.cause} }

// unknownItem is the ErrInvalid for an item id that is not in the transcript.
func unknownItem(session, id string, ids []string) error {
	e := &Error{
		Op: "find item", Session: session, Err: ErrInvalid, Detail: "no item has the id " + id,
		Hint: "holdfast sessions show " + session,
	}
	if near := nearest(id, ids); len(near) > 0 {
		e.Hint = "nearest: " + strings.Join(near, ", ")
	}
	return e
}
