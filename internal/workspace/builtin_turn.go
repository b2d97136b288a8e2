package workspace

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/hostpipe"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// agentProcess is the part of a [supervisor.Process] that a turn needs.
type agentProcess interface {
	Stdin() io.WriteCloser
	Stdout() io.Reader
	Stderr() string
	Channel() io.ReadWriteCloser
	Wait(ctx context.Context) (supervisor.Exit, error)
	Kill(ctx context.Context) error
	Close() error
}

// turn starts a process for one turn and follows it to its end.
func (a *builtinAgent) turn(ctx context.Context, stop context.CancelCauseFunc, emit func(event.Event), input []transcript.Part) (*event.Result, error) {
	release, err := a.ready(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	opened, err := a.start(ctx)
	if err != nil {
		return nil, err
	}
	if !a.emitted {
		a.emitted = true
		emit(opened)
	}
	a.emitChanges(emit)
	spec, err := a.spec(ctx, input)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	p, err := a.o.Start(ctx, supervisor.Spec{
		ID: processID(opened.ID), Args: []string{a.o.Program, "inside"}, Dir: a.o.Spec.Run.Cwd, Channel: true,
	})
	if err != nil {
		return nil, err
	}
	t := &builtinTurn{a: a, p: p, emit: emit, wake: make(chan struct{}, 1)}
	t.res = event.Result{SessionID: opened.ID, ByModel: map[string]event.ModelUsage{}}
	res, err := t.run(ctx, stop, spec)
	if res != nil && t.died {
		res.Duration = time.Since(began)
	}
	return res, err
}

// ready prepares the container, unless the session is already open.
func (a *builtinAgent) ready(ctx context.Context) (release func(), err error) {
	a.mu.Lock()
	open := a.log != nil || a.closed
	a.mu.Unlock()
	if open || a.o.Ready == nil {
		return func() {}, nil
	}
	return a.o.Ready(ctx)
}

// processID returns the name of a session's process in its container. A session has only one.
func processID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return "own-" + hex.EncodeToString(sum[:12])
}

// emitChanges emits the changes that were made while no turn was running.
func (a *builtinAgent) emitChanges(emit func(event.Event)) {
	a.mu.Lock()
	changes := a.changes
	a.changes = nil
	a.mu.Unlock()
	for _, c := range changes {
		emit(event.PolicyChanged{Change: c})
	}
}

// spec returns the input of the process.
func (a *builtinAgent) spec(ctx context.Context, input []transcript.Part) ([]byte, error) {
	mode, err := a.currentMode(ctx)
	if err != nil {
		return nil, err
	}
	s := a.o.Spec
	s.Run.Permissions.Mode = mode
	s.Version, s.Session, s.Interactive = hostpipe.SpecVersion, a.SessionID(), a.o.Ask != nil
	s.Models = nil
	for _, m := range a.o.Models {
		if m != nil {
			s.Models = append(s.Models, m.Info())
		}
	}
	if len(input) > 0 {
		if s.Input, err = hostpipe.EncodeParts(input); err != nil {
			return nil, err
		}
	}
	return json.Marshal(s)
}

// builtinTurn is a running turn.
type builtinTurn struct {
	a      *builtinAgent
	p      agentProcess
	server *hostpipe.Server
	emit   func(event.Event)
	work   sync.WaitGroup

	mu         sync.Mutex
	queue      []event.Event
	size       int  // size of the queued events in bytes
	overflowed bool // true if the queue has overflowed; no more events are queued then
	wake       chan struct{}

	res  event.Result // built from the events that have arrived so far
	died bool         // the process ended without a result
}

// run runs the turn's process. When it returns, everything that it started has ended.
func (t *builtinTurn) run(ctx context.Context, stop context.CancelCauseFunc, spec []byte) (*event.Result, error) {
	a := t.a
	var models []model.Model
	for _, m := range a.o.Models {
		if m != nil {
			models = append(models, m)
		}
	}
	// The process ends before another holder can take the session.
	ctx, ended := a.log.LeaseContext(ctx)
	defer ended()
	defer t.work.Wait()
	defer t.p.Close()
	server, err := hostpipe.NewServer(t.p.Channel(), a.o.Sessions, hostpipe.ServeOptions{
		Session: a.SessionID(), Lease: a.log.Lease(), Models: models, Ask: a.o.Ask, Event: t.push,
		Budget: hostpipe.Budget{
			Calls: a.o.Spec.Run.Limits.MaxTurns, USD: max(a.o.Spec.Run.Limits.MaxBudgetUSD, 0), Spent: a.spent, MaxTokens: a.o.Spec.Run.ModelOptions.MaxTokens, Effort: a.o.Spec.Run.ModelOptions.Effort,
		},
	})
	if err != nil {
		return nil, err
	}
	t.server = server
	a.attach(server, stop)
	defer a.attach(nil, nil)
	defer func() { a.spent = server.SpentUSD() }()
	t.work.Go(func() {
		_, _ = t.p.Stdin().Write(spec) // a process that does not read its input ends without a result
		_ = t.p.Stdin().Close()
	})
	t.work.Go(func() { _, _ = io.Copy(io.Discard, t.p.Stdout()) })
	// The work that the host does for this turn ends with the process.
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	served := make(chan error, 1)
	t.work.Go(func() { served <- server.Serve(serving) })
	err = t.follow(ctx, server, served)
	t.drain()
	if t.overflowed { // no more events are queued
		return t.resultWithoutEnd(ctx, errFlood)
	}
	if t.res.Reason != "" {
		t.checkEnd(ctx)
		return &t.res, nil
	}
	if failed := server.Failed(); failed != nil {
		_, _ = t.waitExit(ctx) // the turn's outcome is already known
		return nil, failed
	}
	return t.resultWithoutEnd(ctx, err)
}

// attach makes s the server of the current turn.
func (a *builtinAgent) attach(s *hostpipe.Server, stop context.CancelCauseFunc) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.server, a.stop = s, stop
	if a.closed && stop != nil {
		stop(errInterrupted)
	}
}

// follow delivers events until the process has ended. When ctx ends, it interrupts the process, and
// kills it after the grace time.
func (t *builtinTurn) follow(ctx context.Context, server *hostpipe.Server, served <-chan error) error {
	done := ctx.Done()
	var patience <-chan time.Time
	for {
		select {
		case <-t.wake:
			t.drain()
		case err := <-served:
			return err
		case <-done:
			done = nil
			t.work.Go(server.Interrupt) // the goroutine ends with the connection
			grace := t.a.o.Grace
			if cause := context.Cause(ctx); errors.Is(cause, session.ErrFenced) || errors.Is(cause, session.ErrLeaseLost) {
				grace = min(grace, leaseGrace)
			}
			timer := time.NewTimer(grace)
			defer timer.Stop()
			patience = timer.C
		case <-patience:
			patience = nil
			t.work.Go(func() { _ = t.p.Kill(context.WithoutCancel(ctx)) })
		}
	}
}

// leaseGrace is the time that a turn has to end after its lease was lost.
const leaseGrace = 3 * time.Second

// exitTime is the time that a process has to exit after it has closed its log.
const exitTime = 10 * time.Second

// waitExit waits for the process to exit, so that the next turn does not find it running.
func (t *builtinTurn) waitExit(ctx context.Context) (supervisor.Exit, error) {
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), exitTime)
	defer stop()
	exit, err := t.p.Wait(ctx)
	if ctx.Err() != nil {
		err = t.p.Kill(context.WithoutCancel(ctx))
	}
	return exit, err
}

// checkEnd waits for the end of a process that has sent its result. If a process ended as
// interrupted although this host did not interrupt it, it has failed, because its container or the
// engine was stopped.
func (t *builtinTurn) checkEnd(ctx context.Context) {
	exit, waited := t.waitExit(ctx)
	ended := waited != nil || exit.Signal != "" || exit.Code == outcome.Terminated.Exit
	if t.res.Reason != event.ReasonInterrupted || ctx.Err() != nil || !ended {
		return
	}
	t.res.Reason = event.ReasonFailed
	if t.res.Err = waited; errors.Is(waited, ErrQuota) {
		return
	}
	t.res.Err = &Error{Op: "run the agent in its container", Err: ErrStopped, Advice: "the transcript is saved; resume the session"}
}

// resultWithoutEnd returns the result of a turn whose process ended without sending one. It repairs the session
// immediately. Tool calls that were running are recorded with an unknown outcome.
func (t *builtinTurn) resultWithoutEnd(ctx context.Context, served error) (*event.Result, error) {
	t.died = true
	exit, waited := t.waitExit(ctx)
	if err := t.a.repairSession(context.WithoutCancel(ctx), t.emit); err != nil {
		return nil, errors.Join(t.cause(exit, served, waited), err)
	}
	t.res.Reason, t.res.Err = event.ReasonFailed, t.cause(exit, served, waited)
	if ctx.Err() != nil {
		t.res.Reason, t.res.Err = event.ReasonInterrupted, nil
	}
	if t.res.Turn != "" {
		t.emit(event.TurnFinished{Turn: t.res.Turn, Reason: t.res.Reason, Err: t.res.Err})
	}
	return &t.res, nil
}

// cause returns why the process ended.
func (t *builtinTurn) cause(exit supervisor.Exit, served, waited error) error {
	e := &Error{Op: "run the agent in its container"}
	tail := strings.TrimSpace(exit.Stderr)
	if tail == "" {
		tail = strings.TrimSpace(t.p.Stderr())
	}
	switch {
	case exit.OOM:
		e.Err = &ExitError{exit}
		e.Advice = "give the workspace more memory: holdfast workspace set NAME --memory 4g"
	case errors.Is(served, errFlood):
		e.Err = served
	case errors.Is(waited, ErrQuota):
		return waited
	case waited != nil:
		e.Err = fmt.Errorf("the connection to it was lost: %w", waited)
	case exit.Signal != "":
		e.Err = fmt.Errorf("it was ended by %s", exit.Signal)
	case served != nil:
		e.Err = served
	default:
		e.Err = fmt.Errorf("it ended with code %d and without a result", exit.Code)
	}
	if tail != "" {
		e.Err = fmt.Errorf("%w; its last output: %s", e.Err, tail)
	}
	return e
}

// repairSession reopens the session, which repairs it.
func (a *builtinAgent) repairSession(ctx context.Context, emit func(event.Event)) error {
	a.mu.Lock()
	log := a.log
	a.log = nil
	a.mu.Unlock()
	if err := log.Close(); err != nil {
		return err
	}
	r, err := a.o.Sessions.Restore(ctx, session.RestoreOptions{SessionID: log.ID(), MustExist: true})
	if err != nil {
		return err
	}
	a.mu.Lock()
	a.log = r.Log
	a.mu.Unlock()
	for _, n := range r.Notices {
		emit(event.Notice{Text: n})
	}
	return nil
}
