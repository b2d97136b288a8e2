package cli

import (
	"context"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/version"
	"github.com/holdfast-dev/holdfast/otel"
)

// telemetry adds an observer that sends spans and metrics when the environment says
// OTEL_*. What is returned sends the rest, once the agent is closed; what could not be
// delivered is told then, and is no error of the run. Sub-agents are observed by t, which
// is nil when nothing is sent.
func (p *Program) telemetry(ctx context.Context, o *agent.Options) (t *otel.Telemetry, stop func(), err error) {
	if p.telemeter != nil {
		o.LoopObservers = append(o.LoopObservers, p.telemeter)
		return p.telemeter, func() {}, nil
	}
	if !otel.Wanted(p.env) {
		return nil, func() {}, nil
	}
	t, err = otel.New(ctx, &otel.Options{Env: p.env, Version: version.Release, Clock: p.Now})
	if err != nil {
		return nil, nil, &failure{msg: err.Error(), hint: outcome.Hint(err), out: outcome.Usage, err: err}
	}
	o.LoopObservers = append(o.LoopObservers, t)
	return t, func() {
		if err := t.Shutdown(context.WithoutCancel(ctx)); err != nil {
			p.warn("%v", err)
			if hint := outcome.Hint(err); hint != "" {
				p.err.line("%s %s", p.err.term.bold("hint:"), hint)
			}
		}
	}, nil
}
