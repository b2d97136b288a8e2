package session

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// salvageBatch is the maximum number of records in one append.
const salvageBatch = 256

// Salvage creates a new session from the readable records of a damaged one, including those of its
// parents, in order: the same payloads in a new chain, with the current time. The damaged session
// stays unchanged as evidence; its runs are not copied. newID may be empty. Salvage returns the
// new id ("" if no session was created) and how many records were kept and lost; a record is lost
// if it is unreadable or depends on a lost one.
func (s *Sessions) Salvage(ctx context.Context, id, newID string) (savedAs string, kept, lost int, err error) {
	m, err := s.Get(ctx, id)
	if err != nil {
		return "", 0, 0, err
	}
	o := Opened{
		SessionID: newID, Project: m.Project, CWD: m.CWD, Model: m.Model, GitBranch: m.GitBranch,
		Title: m.Title, Summary: m.Summary, Tag: m.Tag, Prompt: m.FirstPrompt,
	}
	l, err := s.Create(ctx, o)
	if err != nil {
		return "", 0, 0, err
	}
	kept, lost, err = s.salvage(ctx, m, l)
	return l.ID(), kept, lost, errors.Join(err, l.Close())
}

// salvage copies records into l and counts those kept and lost.
func (s *Sessions) salvage(ctx context.Context, m Meta, l *Log) (kept, lost int, err error) {
	var (
		batch []Draft
		whole replayer // the records copied so far
	)
	flush := func() error {
		if len(batch) == 0 {
			return nil
		}
		_, err := l.Append(ctx, batch...)
		kept += len(batch)
		batch = batch[:0]
		return err
	}
	for r, err := range s.Effective(ctx, m.ID, Range{}) {
		switch {
		case errors.Is(err, ErrCorrupt):
			lost++
			continue
		case err != nil:
			return kept, lost, err
		case !salvageable(&r):
			continue
		case whole.take(&r) != nil:
			lost++
			continue
		}
		d, err := whole.salvagedDraft(&r)
		if err != nil {
			return kept, lost, err
		}
		if batch = append(batch, d); len(batch) == salvageBatch {
			if err := flush(); err != nil {
				return kept, lost, err
			}
		}
	}
	err = flush()
	return kept, lost, err
}

// salvagedDraft returns the draft of a record that f has just processed. If the record cuts the
// transcript, its number of items is corrected for lost items.
func (f *replayer) salvagedDraft(r *Record) (Draft, error) {
	if r.Kind != record.KindRewrite {
		return Draft{Kind: r.Kind, Payload: r.Payload}, nil
	}
	var w Rewrite
	if err := json.Unmarshal(r.Payload, &w); err != nil {
		return Draft{}, err
	}
	if w.Messages == len(f.s.Items) {
		return Draft{Kind: r.Kind, Payload: r.Payload}, nil
	}
	w.Messages = len(f.s.Items)
	return NewDraft(r.Kind, w)
}

// salvageable reports whether a record is known and still valid in another log. Records that
// contain seqs, or belong to a run, are not.
func salvageable(r *Record) bool {
	switch r.Kind {
	case record.KindOpened, record.KindRedacted, record.KindRunEvent:
		return false
	}
	if r.Payload == nil || !json.Valid(r.Payload) {
		return false
	}
	_, err := Fold([]Record{*r})
	return err == nil
}
