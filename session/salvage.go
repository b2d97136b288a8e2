package session

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/holdfast-dev/holdfast/internal/record"
)

// salvageBatch bounds how many records go over in one append.
const salvageBatch = 256

// Salvage makes a new session of what can still be read of a damaged one, parents'
// records included, in order: the same payloads in a chain of its own, with record
// times of now. The damaged one stays as it is, for evidence; its runs are not taken
// over. newID may be empty. It returns the new id, "" when no session was made, and how many records
// were kept and lost: those could not be read, or rest on such.
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

// salvage takes records over into l, and counts those that were kept and lost.
func (s *Sessions) salvage(ctx context.Context, m Meta, l *Log) (kept, lost int, err error) {
	var (
		batch []Draft
		whole replayer // what was taken over so far
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
		d, err := whole.recounted(&r)
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

// recounted is the draft of a record that f has just taken: a cut says how many items are
// left, which are fewer when some were lost.
func (f *replayer) recounted(r *Record) (Draft, error) {
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

// salvageable reports whether a record says something in another log too, and can be
// understood. What names seqs, or a run, does not.
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
