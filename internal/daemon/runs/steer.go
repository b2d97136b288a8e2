package runs

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Steer gives a running run a text to heed. It is on record when Steer returns, and
// reaches the agent that works with the next call of its model, or else the next agent
// with its input. RUN_NOT_STEERABLE for anything that does not run.
func (r *Runs) Steer(ctx context.Context, id, text, requestID string, by Actor) error {
	cannot := wireError(wire.RunNotSteerable(id))
	x := r.lookup(id)
	if x == nil || !x.running() {
		return cannot
	}
	text, _ = x.mask.Text(text)
	e := wire.RunEvent{Event: wire.RunSteered, Segment: x.segment, Text: text, By: by.Name, Via: by.Via, RequestID: requestID}
	if _, err := x.append(ctx, e, api.StatusRunning); err != nil {
		if errors.Is(err, runlog.ErrChanged) {
			return cannot
		}
		return err
	}
	x.mu.Lock()
	x.steering = append(x.steering, text)
	members := make([]*runAgent, 0, len(x.members))
	for _, m := range x.members {
		members = append(members, m)
	}
	x.mu.Unlock()
	for _, m := range members {
		x.submit(ctx, m)
	}
	return nil
}

// submit gives an agent that works the texts that wait. It leaves them where the agent
// cannot take them now.
func (x *run) submit(ctx context.Context, m *runAgent) {
	m.steering.Lock() // a turn that ends waits, and sees what was submitted
	defer m.steering.Unlock()
	if !m.busy {
		return
	}
	texts := x.takeSteering()
	if len(texts) == 0 {
		return
	}
	err := m.agent.Submit(context.WithoutCancel(ctx), transcript.Text{Text: steered(texts)})
	if err == nil {
		return
	}
	x.mu.Lock()
	x.steering = append(texts, x.steering...)
	x.mu.Unlock()
	if !errors.Is(err, agent.ErrApprovalPending) && !errors.Is(err, agent.ErrClosed) {
		x.r.o.Log.Warn("cannot pass steering to the agent", slog.String("run", x.id), slog.Any("error", err))
	}
}

func (x *run) takeSteering() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	texts := x.steering
	x.steering = nil
	return texts
}

// withSteering is an agent's input with the texts that wait, at its end.
func (x *run) withSteering(input string) string {
	if texts := x.takeSteering(); len(texts) > 0 {
		if input != "" {
			input += "\n\n"
		}
		input += steered(texts)
	}
	return input
}

// steered is how a model reads what its run is steered with (seed 002's original).
func steered(texts []string) string {
	return "<user_steering>\n" + strings.Join(texts, "\n\n") + "\n</user_steering>"
}
