package rewind

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

// Find finds the record to rewind to. what is one of:
//
//	12        record number 12
//	turn:3    the end of the third turn; turn:0 is before the first
//	turn:-1   before the last turn; turn:-2 is before the last two
//	ID        an item of the transcript, or the end of the turn with this id
//
// It returns ErrInvalid if there is none.
func Find(ctx context.Context, s *session.Sessions, id, what string) (int64, error) {
	m, err := s.Get(ctx, id)
	if err != nil {
		return 0, err
	}
	bad := func(format string, args ...any) error {
		return &session.Error{
			Op: "find a record of", Session: id, Err: session.ErrInvalid, Detail: fmt.Sprintf(format, args...),
			Hint: "holdfast sessions show --records " + id,
		}
	}
	if seq, err := strconv.ParseInt(what, 10, 64); err == nil {
		if seq < 1 || seq > m.Head {
			return 0, bad("no record %d; the records are 1 to %d", seq, m.Head)
		}
		return seq, nil
	}
	turn := int64(-1)
	if n, ok := strings.CutPrefix(what, "turn:"); ok {
		if turn, err = strconv.ParseInt(n, 10, 32); err != nil {
			return 0, bad("%q is not a turn number", n)
		}
		if turn < 0 {
			return beforeLast(ctx, s, id, -turn, bad)
		}
	}
	w := target{what: what, turn: turn}
	for r, err := range s.Effective(ctx, id, session.Range{}) {
		if err != nil {
			return 0, err
		}
		if w.found(&r) {
			break
		}
	}
	switch {
	case w.at > 0:
		return w.at, nil
	case turn >= 0 && w.turns >= turn && turn > 0: // the turn is still open
		return m.Head, nil
	case turn >= 0:
		return 0, bad("no turn %d; the last turn is %d", turn, w.turns)
	}
	return 0, bad("no item and no turn has the id %.100q", what)
}

// beforeLast returns the record before the last n turns began.
func beforeLast(ctx context.Context, s *session.Sessions, id string, n int64, bad func(string, ...any) error) (int64, error) {
	var turns int64
	for r, err := range s.Records(ctx, id, session.Range{Reverse: true}) {
		if err != nil {
			return 0, err
		}
		if r.Kind != record.KindTurnOpened {
			continue
		}
		if turns++; turns == n {
			return r.Seq - 1, nil
		}
	}
	return 0, bad("turn:-%d is before the first turn; the session has %s", n, term.Count(int(turns), "turn"))
}

// target searches for a record, starting with the first record.
type target struct {
	what  string
	turn  int64 // its number, or -1
	turns int64 // number of turns opened so far
	open  string
	at    int64
}

// found reads a record, and reports whether the search has ended.
func (w *target) found(r *session.Record) bool {
	switch r.Kind {
	case record.KindTurnOpened:
		var t record.TurnOpened
		_ = json.Unmarshal(r.Payload, &t)
		if w.open = t.Turn; w.turn == w.turns && w.turn == 0 {
			w.at = r.Seq - 1
			return true
		}
		w.turns++
	case record.KindTurnClosed:
		var t record.TurnClosed
		_ = json.Unmarshal(r.Payload, &t)
		if w.turn > 0 && w.turns == w.turn || w.turn < 0 && t.Turn == w.what {
			w.at = r.Seq
			return true
		}
	case session.KindItem:
		if it, err := record.ReadItem(r.Payload); err == nil && w.turn < 0 && !it.Queued && it.Item.ID() == w.what {
			w.at = r.Seq
			return true
		}
	case record.KindRewrite:
		var list session.Rewrite
		if w.turn >= 0 || json.Unmarshal(r.Payload, &list) != nil {
			return false
		}
		for _, raw := range list.Items { // some items occur only in a rewrite
			var it struct {
				ID string `json:"id"`
			}
			if json.Unmarshal(raw, &it) == nil && it.ID == w.what {
				w.at = r.Seq
				return true
			}
		}
	}
	return false
}
