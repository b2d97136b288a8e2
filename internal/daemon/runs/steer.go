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

// Steer gives a running run a text for its agent. The text is recorded when Steer returns. The
// working agent gets it with its next model call. If no agent works, the next agent gets it with
// its input. The error is RUN_NOT_STEERABLE if the run is not running.
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
	members := make([]*runAgent, 0, len(x.agents))
	for _, m := range x.agents {
		members = append(members, m)
	}
	x.mu.Unlock()
	for _, m := range members {
		x.submit(ctx, m)
	}
	return nil
}

// submit gives the texts that are waiting to a working agent. Texts that the agent cannot take now
// keep waiting.
func (x *run) submit(ctx context.Context, m *runAgent) {
	m.steering.Lock() // a turn that ends waits for this lock and then sees the submitted texts
	defer m.steering.Unlock()
	if !m.busy {
		return
	}
	texts := x.takeSteering()
	if len(texts) == 0 {
		return
	}
	err := m.agent.Submit(context.WithoutCancel(ctx), transcript.Text{Text: steeringText(texts)})
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

// withSteering returns an agent's input with the waiting texts at its end.
func (x *run) withSteering(input string) string {
	if texts := x.takeSteering(); len(texts) > 0 {
		if input != "" {
			input += "\n\n"
		}
		input += steeringText(texts)
	}
	return input
}

// steeringText returns the steering as a message for the model, in the wording of the Open Agent
// SDK.
func steeringText(texts []string) string {
	return "<user_steering>\n" + strings.Join(texts, "\n\n") + "\n</user_steering>"
}
