package runs

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/internal/inputimage"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/runlog"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// steering is a recorded text from a user that no agent has yet. It can be withdrawn.
//
//	Steer ─► steered ─┬─► an agent builds a request, or a step begins ─► steering_delivered
//	                  ├─► Withdraw ───────────────────────────────────► steering_withdrawn
//	                  └─► the segment ends ─► the next segment has it
type steering struct {
	id, text string
	older    bool // than the input of the segment
	images   []transcript.Media
}

// steeringLockName returns the name of the lock that is held while texts of a run are recorded,
// delivered or withdrawn, and while the run is started. The lock guards run.steering and
// runAgent.between.
func steeringLockName(id string) string { return "steer " + id }

// Steer gives a running run a text and images for its agent, and returns the text's id. The text is recorded
// when Steer returns. The working agent gets it with its next model call. If no agent works, the
// next agent gets it with its input. If the run ends before, the next segment gets it. The error is
// RUN_NOT_STEERABLE if the run is not running.
func (r *Runs) Steer(ctx context.Context, id, text, requestID string, by Actor, images ...transcript.Media) (string, error) {
	if err := inputimage.CheckAll(images); err != nil {
		return "", &Error{Code: wire.CodeValidation, Message: err.Error(), Tip: outcome.Hint(err)}
	}
	cannot := wireError(wire.RunNotSteerable(id))
	x := r.lookup(id)
	if x == nil || !x.running() {
		return "", cannot
	}
	unlock, err := r.locks.lockForRequest(ctx, steeringLockName(id))
	if err != nil {
		return "", err
	}
	defer unlock()
	if x.sealed {
		return "", cannot
	}
	if len(images) > 0 && inputimage.CheckAll(append(steeringImages(x.steering), images...)) != nil { // the agent gets all of them at once
		return "", &Error{Code: wire.CodeConflict, Message: "too many images wait for the agent", Tip: "send the message when the agent has read the others"}
	}
	text, _ = x.mask.Text(text)
	s := steering{id: r.o.Sessions.NewID(), text: text, images: images}
	e := wire.RunEvent{
		Event: wire.RunSteered, Segment: x.segment, Steering: []string{s.id}, Text: text, Images: images, By: by.Name, Via: by.Via, RequestID: requestID,
	}
	if _, err := x.append(ctx, e, api.StatusRunning); err != nil {
		if errors.Is(err, runlog.ErrChanged) {
			return "", cannot
		}
		return "", err
	}
	x.steering = append(x.steering, s)
	for _, m := range x.existingAgents() {
		if m.between {
			x.submit(ctx, m)
		}
	}
	return s.id, nil
}

// Withdraw takes back a text that no agent has yet. It also works when the run has ended. The error
// is CONFLICT if an agent has the text, if it was withdrawn, or if there is no such text.
func (r *Runs) Withdraw(ctx context.Context, id, steeringID string, by Actor) error {
	r.waitEnded(ctx, id)
	unlock, err := r.locks.lockForRequest(ctx, steeringLockName(id))
	if err != nil {
		return err
	}
	defer unlock()
	has := func(s steering) bool { return s.id == steeringID }
	taken := &Error{Code: wire.CodeConflict, Message: "the message cannot be withdrawn: the model has it, or it was already withdrawn"}
	e := wire.RunEvent{Event: wire.RunSteeringWithdrawn, Steering: []string{steeringID}, By: by.Name, Via: by.Via}
	if x := r.lookup(id); x != nil && x.running() {
		if !slices.ContainsFunc(x.steering, has) {
			return taken
		}
		e.Segment = x.segment
		if _, err := x.append(ctx, e, api.StatusRunning); err != nil {
			return err
		}
		x.steering = slices.DeleteFunc(x.steering, has)
		return nil
	}
	m, err := r.o.Sessions.Get(ctx, id)
	if errors.Is(err, session.ErrNotFound) {
		return notFound(id)
	} else if err != nil {
		return err
	}
	if held, err := r.o.Sessions.Lease(ctx, id); err != nil {
		return err
	} else if held != nil && api.RunStatus(m.Run) == api.StatusRunning {
		return &Error{Code: wire.CodeConflict, Message: "another process runs this run", Tip: "ask the daemon that runs it"}
	}
	p, err := r.readHistory(ctx, id)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(p.steering, has) {
		return taken
	}
	e.Segment = p.segment
	_, err = r.append(ctx, id, e, p.status)
	return err
}

// takeSteering takes the waiting texts. If there are none and last is true, later texts are
// rejected, because no agent would read them.
func (x *run) takeSteering(ctx context.Context, last bool) ([]steering, error) {
	unlock, err := x.r.locks.lock(ctx, steeringLockName(x.id))
	if err != nil {
		return nil, err
	}
	defer unlock()
	texts := x.steering
	x.steering = nil
	x.mu.Lock()
	defer x.mu.Unlock()
	x.sealed = last && len(texts) == 0
	return texts, nil
}

// handOver passes the waiting texts to a working agent. An agent reads them before its next model
// call, so handOver is called when the calls of a tool round have ended, and between two turns.
func (m *runAgent) handOver(ctx context.Context, between bool) {
	unlock, err := m.x.r.locks.lock(ctx, steeringLockName(m.x.id))
	if err != nil { // the run was stopped, so the texts keep waiting
		return
	}
	defer unlock()
	if m.between = between; ctx.Err() == nil {
		m.x.submit(ctx, m)
	}
}

func (m *runAgent) setBetween(between bool) {
	unlock, err := m.x.r.locks.lock(context.Background(), steeringLockName(m.x.id))
	if err != nil {
		return
	}
	defer unlock()
	m.between = between
}

// submit passes the waiting texts to an agent. Texts that it cannot take now keep waiting. The
// caller holds the steering lock.
func (x *run) submit(ctx context.Context, m *runAgent) {
	if len(x.steering) == 0 {
		return
	}
	err := m.agent.Submit(context.WithoutCancel(ctx), inputimage.Input(steeringText(x.steering), steeringImages(x.steering))...)
	blocked, isBlocked := errors.AsType[*event.Error](err)
	switch {
	case err == nil:
		x.recordSteering(ctx, wire.RunEvent{Event: wire.RunSteeringDelivered}, x.steering)
	case isBlocked:
		x.recordSteering(ctx, wire.RunEvent{Event: wire.RunSteeringWithdrawn, Message: blocked.Error()}, x.steering)
	case errors.Is(err, agent.ErrApprovalPending), errors.Is(err, agent.ErrClosed), errors.Is(err, session.ErrUnsupported):
		return
	default:
		x.r.o.Log.Warn("cannot pass steering to the agent", slog.String("run", x.id), slog.Any("error", err))
		return
	}
	x.steering = nil
}

// putBack makes texts wait again that an agent did not take.
func (x *run) putBack(texts []steering) {
	if len(texts) == 0 {
		return
	}
	unlock, err := x.r.locks.lock(context.Background(), steeringLockName(x.id))
	if err != nil {
		return
	}
	defer unlock()
	x.steering = append(texts, x.steering...)
}

// recordSteering records what happened to texts. If that fails, the next segment may get the texts
// again, which is better than to lose them.
func (x *run) recordSteering(ctx context.Context, e wire.RunEvent, texts []steering) {
	if e.Segment = x.segment; len(texts) == 0 {
		return
	}
	for _, s := range texts {
		e.Steering = append(e.Steering, s.id)
	}
	if _, err := x.append(ctx, e, api.StatusRunning); err != nil {
		x.r.o.Log.Warn("cannot record what happened to a steering text", slog.String("run", x.id), slog.Any("error", err))
	}
}

// withSteering returns an agent's input with the texts: older ones before it, others after it. A slash
// command stays at the beginning, because it would not be expanded elsewhere.
func withSteering(input string, texts []steering) string {
	at := 0
	for at < len(texts) && texts[at].older && input != "" && input[0] != '/' {
		at++
	}
	var list []string
	for _, part := range []string{steeringText(texts[:at]), input, steeringText(texts[at:])} {
		if part != "" {
			list = append(list, part)
		}
	}
	return strings.Join(list, "\n\n")
}

// steeringImages returns the images of texts, in their order.
func steeringImages(texts []steering) (list []transcript.Media) {
	for _, s := range texts {
		list = append(list, s.images...)
	}
	return list
}

// steeringText returns the steering as a message for the model, in the wording of the Open Agent
// SDK.
func steeringText(texts []steering) string {
	if len(texts) == 0 {
		return ""
	}
	list := make([]string, len(texts))
	for i, s := range texts {
		list[i] = s.text
	}
	return "<user_steering>\n" + strings.Join(list, "\n\n") + "\n</user_steering>"
}
