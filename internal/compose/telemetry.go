package compose

import (
	"context"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/otel"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/version"
)

// telemetry adds an observer that sends spans and metrics if OTEL_* variables are set. The returned
// function sends the remaining data after the agent is closed. Failed delivery is only a notice.
// The result t observes sub-agents; it is nil if nothing is sent.
func telemetry(ctx context.Context, r *Request, o *agent.Options) (t *otel.Telemetry, stop func(), err error) {
	e := r.Env
	if t := r.Telemetry; t != nil {
		o.LoopObservers = append(o.LoopObservers, t)
		return t, func() {}, nil
	}
	if !otel.Enabled(e.Lookup) {
		return nil, func() {}, nil
	}
	if t, err = OpenTelemetry(ctx, e); err != nil {
		return nil, nil, err
	}
	o.LoopObservers = append(o.LoopObservers, t)
	return t, func() {
		if err := t.Shutdown(context.WithoutCancel(ctx)); err != nil {
			e.SendNotice(env.Notice{Text: err.Error(), Hint: outcome.Hint(err)})
		}
	}, nil
}

// OpenTelemetry opens the observer of agents that sends spans and metrics if the environment
// configures it. The caller shuts it down.
func OpenTelemetry(ctx context.Context, e *env.Env) (*otel.Telemetry, error) {
	t, err := otel.New(ctx, &otel.Options{Env: e.Lookup, Version: version.Current().Version, Clock: e.Clock})
	if err != nil {
		return nil, &outcome.Failure{Message: err.Error(), Advice: outcome.Hint(err), Result: outcome.Usage, Cause: err}
	}
	return t, nil
}
