package chat

import (
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/daemon/client"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/dial"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Session is the session of a conversation, and what the next run of it is made of. Its methods may
// be called from any goroutine.
//
//	Open ─► Send ─┬─ the run works: the text is queued for it
//	              └─ otherwise: a run is started or continued with the environment of this process
//	        Events ─► client.Event, over restarts of the daemon
//
// When the daemon is killed, nothing is continued by itself: the run is recorded as interrupted, and
// the next Send, Resume or Answer continues it. Completed work, open questions and queued messages
// are in the log, so nothing is lost and nothing happens without the user.
type Session struct {
	p       *command.Program
	flags   *runFlags
	options dial.Options
	in      *compose.Workspace // nil without a workspace

	mu     sync.Mutex
	conn   *dial.Conn
	*place            // of the session of the conversation
	model  string     // that the user has chosen for new sessions, or ""
	repair sync.Mutex // held while a new daemon is found or started
}

// About describes a session when it was opened.
type About struct {
	Title   string
	Head    int64  // the seq of its last record
	Model   string // of the next run, or "" if none is configured
	Mode    policy.Mode
	Cwd     string // where the session began
	Status  api.RunStatus
	Daemon  bool         // false: the runs end with this process
	Notice  env.Notice   // why it is not the daemon, or an empty one
	Notices []env.Notice // about settings and files
}

// ID returns the id of the session, or "" before the first message of a new one.
func (s *Session) ID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.id
}

// ReservedID returns the id of the session, or the one that a new session gets with its first message.
func (s *Session) ReservedID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nextID()
}

// About describes the session when it was opened.
func (s *Session) About() About {
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.about
	a.Daemon, a.Notice = s.conn.Daemon, s.conn.Notice
	return a
}

// Client returns the connection. It changes when a new daemon has another socket.
func (s *Session) Client() *client.Client {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn.Client
}

// Close closes the connection. Without a daemon the run is interrupted and can be continued.
func (s *Session) Close() error {
	if s.in != nil {
		s.in.Close()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn.Close()
}

// sendTries is how often a message is sent if the run ends or starts at the same time.
const sendTries = 4

// Send gives the model a text and images. If the run works, they are recorded and wait for the next
// model call. Otherwise a new or the next run starts with them. An error can mean that the text was
// recorded but the answer of the daemon was lost; then the events show it.
func (s *Session) Send(ctx context.Context, text string, images ...transcript.Media) error {
	here, id := s.current()
	if id == "" {
		return s.run(ctx, here, text, images)
	}
	var err error
	for range sendTries {
		if err = s.steer(ctx, id, text, images); !isStatus(err, http.StatusConflict, http.StatusNotFound) {
			return err
		}
		if err = s.run(ctx, here, text, images); !isStatus(err, http.StatusConflict) {
			return err
		}
	}
	return err
}

// steer queues a text for the run. The error is a conflict if the run does not work.
func (s *Session) steer(ctx context.Context, id, text string, images []transcript.Media) error {
	return s.call(ctx, func(c *client.Client) error {
		_, err := c.SteerRun(ctx, id, text, images...)
		return err
	})
}

// Resume continues a run that was interrupted, without a message.
func (s *Session) Resume(ctx context.Context) error {
	here, _ := s.current()
	return s.run(ctx, here, "", nil)
}

// run starts or continues the run with the environment of this process, so that API keys are there
// after a restart of the daemon.
func (s *Session) run(ctx context.Context, here *place, text string, images []transcript.Media) error {
	if err := s.CheckModel(); err != nil {
		return err
	}
	s.mu.Lock()
	spec, start := here.spec, true
	spec.Prompt, spec.Images = text, images
	spec.Session.ID = here.nextID()
	s.mu.Unlock()
	err := s.call(ctx, func(c *client.Client) error {
		_, err := c.CreateRun(ctx, &api.NewRun{Spec: spec, Environ: s.p.Env, Start: &start})
		return err
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	here.next = "" // after a failure, the next try is another session
	if err != nil {
		return err
	}
	here.id = spec.Session.ID
	here.spec = here.spec.ForResume("") // a takeover, --at and --init are for the first run
	if here.spec.Permissions.Mode == spec.Permissions.Mode {
		here.spec.Permissions.Mode = "" // the session has recorded it
	}
	return nil
}

// Working reports whether the session has a run that has not ended.
func (s *Session) Working(ctx context.Context) (bool, error) {
	if s.ID() == "" {
		return false, nil
	}
	info, err := s.Client().Run(ctx, s.ID())
	if isStatus(err, http.StatusNotFound) {
		return false, nil
	}
	return err == nil && !info.Status.Ended(), err
}

// Interrupt stops the turn. Completed work is kept.
func (s *Session) Interrupt(ctx context.Context) error {
	err := s.call(ctx, func(c *client.Client) error {
		_, err := c.StopRun(ctx, s.ID())
		return err
	})
	if isStatus(err, http.StatusConflict, http.StatusNotFound) {
		return nil // it has just ended
	}
	return err
}

// Answer answers a question of the run or of one of its agents. If another client has answered, it
// returns that answer and an error that matches [approval.ErrAnswered]. An interrupted run
// continues after the answer.
func (s *Session) Answer(ctx context.Context, q *approval.Request, a approval.Answer) (approval.Answer, error) {
	var got *api.Approval
	err := s.call(ctx, func(c *client.Client) (err error) {
		got, err = c.Decide(ctx, q.ID, api.Decision{
			Decision: a.Decision, Scope: a.Scope, SaveTo: a.SaveTo, Message: a.Message, Stop: a.Stop, Input: a.Input, Digest: q.Digest,
		})
		return err
	})
	if p, ok := errors.AsType[*api.Problem](err); ok && p.Winner != nil {
		return *p.Winner, err
	}
	if err != nil {
		return approval.Answer{}, err
	}
	if got.Answer != nil {
		a = *got.Answer
	}
	info, err := s.Client().Run(ctx, s.ID())
	if err != nil || info.Status != api.StatusInterrupted || info.Approvals > 0 {
		return a, nil //nolint:nilerr // the answer is recorded
	}
	return a, s.Resume(ctx)
}

// SetMode changes the permission mode, for a working run at once.
func (s *Session) SetMode(ctx context.Context, m policy.Mode) error {
	here, id := s.current()
	if id != "" {
		err := s.call(ctx, func(c *client.Client) error {
			_, err := c.SetMode(ctx, id, m)
			return err
		})
		if !isStatus(err, http.StatusConflict, http.StatusNotFound) { // otherwise the next run begins with it
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	here.spec.Permissions.Mode = string(m)
	return nil
}

// SetModel changes the model of the next run: a working run keeps its model until its turn ends.
func (s *Session) SetModel(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.model, s.spec.Model, s.about.Model = name, name, name
}

// isStatus reports whether an error is a problem with one of these HTTP statuses.
func isStatus(err error, statuses ...int) bool {
	p, ok := errors.AsType[*api.Problem](err)
	for _, status := range statuses {
		if ok && p.Status == status {
			return true
		}
	}
	return false
}
