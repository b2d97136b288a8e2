// Package runlog writes and reads what the log of a run says of the run itself: how it is
// described, and where it stands.
//
//	wire.RunEvent ─► Append ─► record run.event ─► Spec
//
// Package holdfast and the daemon's runs use it. What the records mean to clients is package wire's.
package runlog

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
)

// ErrChanged says that a run is not where a change of it expected it to be.
var ErrChanged = errors.New("the run has changed meanwhile")

// Append puts an event on a run's record, if the run's status is one of from (none:
// whatever it is), and returns its seq. That is the compare-and-set behind every status: the
// look and the append are one step of the log.
func Append(ctx context.Context, s *session.Sessions, id string, e wire.RunEvent, from ...api.RunStatus) (int64, error) {
	d, err := session.NewDraft(record.KindRunEvent, e)
	if err != nil {
		return 0, err
	}
	for {
		m, err := s.Get(ctx, id)
		if err != nil {
			return 0, err
		}
		if len(from) > 0 && !slices.Contains(from, api.RunStatus(m.Run)) {
			return 0, fmt.Errorf("run %s is %s: %w", id, m.Run, ErrChanged)
		}
		recs, err := s.AppendShared(ctx, id, m.Head, d)
		switch {
		case errors.Is(err, session.ErrConflict) && ctx.Err() == nil:
			continue
		case err != nil:
			return 0, err
		}
		return recs[0].Seq, nil
	}
}

// Describe puts the spec of a run that no daemon runs on record, unless the record says the same.
// by is the account that runs it.
func Describe(ctx context.Context, s *session.Sessions, id string, spec *runspec.Spec, by string) error {
	was, err := Spec(ctx, s, id)
	if err != nil {
		return err
	}
	text, err := json.Marshal(spec)
	if err != nil {
		return err
	}
	if before, err := json.Marshal(was); err == nil && string(before) == string(text) {
		return nil
	}
	_, err = Append(ctx, s, id, described(spec, by))
	return err
}

// Description is the record of what a run is that no daemon runs; by is the account that runs it.
func Description(spec *runspec.Spec, by string) (session.Draft, error) {
	return session.NewDraft(record.KindRunEvent, described(spec, by))
}

func described(spec *runspec.Spec, by string) wire.RunEvent {
	return wire.RunEvent{Event: wire.RunDescribed, Spec: spec, By: by}
}

// Spec is what the record says that a run of one agent is: nil when it says nothing.
func Spec(ctx context.Context, s *session.Sessions, id string) (spec *runspec.Spec, err error) {
	for rec, err := range s.Effective(ctx, id, session.Range{}) {
		if err != nil {
			return nil, err
		}
		if rec.Kind != record.KindRunEvent || rec.Payload == nil {
			continue
		}
		var e struct {
			Spec     *runspec.Spec `json:"spec"`
			Strategy *struct {
				Sole string `json:"sole"`
			} `json:"strategy"`
		}
		if err := json.Unmarshal(rec.Payload, &e); err != nil {
			return nil, fmt.Errorf("record %d: %w", rec.Seq, err)
		}
		if e.Strategy != nil && e.Strategy.Sole == "" {
			return nil, outcome.Invalid("session "+id+" is a run of several agents, which the daemon continues", "holdfast daemon; POST /v1/runs/"+id+"/continue")
		}
		if e.Spec != nil {
			spec = e.Spec
		}
	}
	return spec, nil
}
