// Package runlog reads and writes the records about a run itself: its spec and its status.
//
//	wire.RunEvent ─► Append ─► record run.event ─► Spec
//
// Package holdfast and the daemon's runs use it. Package wire defines the records for clients.
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

// ErrChanged is returned if the status of a run is not the expected one.
var ErrChanged = errors.New("the run changed in the meantime")

// Append records an event of a run if the status of the run is one of from (any status if from is
// empty), and returns its seq. The check and the append are one atomic step of the log, so Append
// is the compare-and-set for run statuses.
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

// Describe records the spec of a run without a daemon, unless the log already has the same spec.
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

// Description returns the record that describes a run without a daemon. The argument by is the account that runs
// it.
func Description(spec *runspec.Spec, by string) (session.Draft, error) {
	return session.NewDraft(record.KindRunEvent, described(spec, by))
}

func described(spec *runspec.Spec, by string) wire.RunEvent {
	return wire.RunEvent{Event: wire.RunDescribed, Spec: spec, By: by}
}

// Spec returns the recorded spec of a run with one agent, or nil if there is none.
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
			return nil, outcome.Invalid("session "+id+" is a run of several agents; only the daemon can continue it", "holdfast daemon; POST /v1/runs/"+id+"/continue")
		}
		if e.Spec != nil {
			spec = e.Spec
		}
	}
	return spec, nil
}
