// Package containeragent is `holdfast inside`, which the supervisor in a workspace container
// starts. It runs one turn of an agent. The agent's log, models and approvers are on the host.
package containeragent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/hostpipe"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Run is `holdfast inside`: one turn of an agent in a container. The log, the models and the
// approvers are on the host. The request is read from standard input, and file descriptor 3 is the
// connection to the host. Users do not call it.
func Run(ctx context.Context, p *command.Program) error {
	stream, err := hostStream()
	if err != nil {
		return outcome.Invalid("holdfast inside runs only in a workspace's container: "+err.Error(), "use holdfast run --workspace NAME PROMPT")
	}
	steer := &Steering{Ready: make(chan struct{})}
	host := hostpipe.Dial(stream, steer)
	defer host.Close()
	defer steer.set(nil)
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { // ends with Close
		<-host.Lost()
		stop(hostpipe.ErrLost)
	}()
	out, err := RunTurn(ctx, p, host, steer)
	if err != nil {
		err = permissionHint(err)
		_ = host.Fail(err) // if the host has ended, no one reads the error
		return command.CauseOf(ctx, err)
	}
	return command.End(out)
}

// permissionHint adds a hint to the error for a project file that the container's user cannot read,
// such as a file that root created on the host. It returns other errors unchanged.
func permissionHint(err error) error {
	if !errors.Is(err, fs.ErrPermission) || outcome.Hint(err) != "" {
		return err
	}
	hint := fmt.Sprintf("the agent runs as user %d in the container; as root on the host, run: chown -R %[1]d:%d FOLDER", os.Getuid(), os.Getgid())
	return &outcome.Failure{Message: err.Error(), Advice: hint, Result: outcome.FromError(err), Cause: err}
}

// RunTurn creates the agent and runs the request.
func RunTurn(ctx context.Context, p *command.Program, host *hostpipe.Client, steer *Steering) (outcome.Outcome, error) {
	spec, err := hostpipe.ReadSpec(p.Stdin)
	if err != nil {
		return outcome.Usage, outcome.Invalid(err.Error(), outcome.Hint(err))
	}
	var input []transcript.Part
	if len(spec.Input) > 0 {
		if input, err = hostpipe.DecodeParts(spec.Input); err != nil {
			return outcome.Usage, err
		}
	}
	cwd, err := p.Folder(spec.Run.Cwd)
	if err != nil {
		return outcome.Usage, err
	}
	p.Getwd = func() (string, error) { return cwd, nil }
	m, err := compose.Make(ctx, insideRequest(p, host, spec, cwd))
	if err != nil {
		return outcome.FromError(err), err
	}
	defer m.Close()
	sessions := session.New(host, &session.Options{Clock: p.Clock})
	o := m.Options
	o.Sessions, o.AgentName = sessions, spec.Name
	o.Session = session.RestoreOptions{SessionID: spec.Session, MustExist: true}
	if spec.Interactive {
		o.Permissions.Ask = askHost(host, sessions, spec.Session)
	}
	a, err := agent.New(m.Models.Primary, &o)
	if err != nil {
		return outcome.Usage, err
	}
	m.Attach(a)
	steer.set(a)
	return runTurn(ctx, host, a, input)
}

// runTurn runs one turn and the turns that its background tasks start. It reports the result only
// after it has closed the session, so that nothing follows the result.
func runTurn(ctx context.Context, host *hostpipe.Client, a *agent.Agent, input []transcript.Part) (outcome.Outcome, error) {
	var res *event.Result
	err := func() error {
		for e, err := range a.Work(ctx, input...) {
			if err != nil {
				return err
			}
			if r, ok := e.(event.Result); ok {
				res = &r
				break
			}
			if err := host.SendEvent(e); err != nil {
				return err
			}
		}
		return nil
	}()
	if left := a.Suspend(); err == nil {
		err = left
	}
	if err == nil && res == nil {
		err = errors.New("the run ended without a result")
	}
	if err != nil {
		return outcome.FromError(err), err
	}
	return command.ExitWith(ctx, res), host.SendEvent(*res)
}

// insideRequest returns the request for composing the agent that the host describes.
func insideRequest(p *command.Program, host *hostpipe.Client, spec *hostpipe.Spec, cwd string) *compose.Request {
	r := &compose.Request{
		Env: p.Environment(), Spec: &spec.Run, Cwd: cwd, Preloaded: spec.Settings, Model: host.Model(0, spec.Models[0]), InContainer: true, NoShell: !hasShell(),
	}
	if len(spec.Models) > 1 {
		r.Fallback = host.Model(1, spec.Models[1])
	}
	return r
}

// hasShell reports whether the image has the shell that the Bash tool needs.
func hasShell() bool {
	for _, name := range []string{"/bin/bash", "/bin/sh"} {
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return true
		}
	}
	return false
}

// askHost sends approval requests to the host. It reads the answer from the log, where the host
// writes it.
func askHost(host *hostpipe.Client, sessions *session.Sessions, id string) func(context.Context, approval.Request) (approval.Answer, error) {
	return func(ctx context.Context, q approval.Request) (approval.Answer, error) {
		if err := host.Ask(ctx, q.ID); err != nil {
			return approval.Answer{}, err
		}
		return approval.Wait(ctx, sessions, id, q)
	}
}

// Steering passes the host's requests to an agent as soon as the agent exists.
type Steering struct {
	once  sync.Once
	Ready chan struct{}
	agent *agent.Agent // nil if no agent will be created
}

func (s *Steering) set(a *agent.Agent) {
	s.once.Do(func() {
		s.agent = a
		close(s.Ready)
	})
}

// Interrupt implements [hostpipe.Handler].
func (s *Steering) Interrupt() {
	if <-s.Ready; s.agent != nil {
		s.agent.Interrupt()
	}
}

// Submit implements [hostpipe.Handler].
func (s *Steering) Submit(b []byte) error {
	input, err := hostpipe.DecodeParts(b)
	if err != nil {
		return err
	}
	if <-s.Ready; s.agent == nil {
		return agent.ErrClosed
	}
	return s.agent.Submit(context.Background(), input...)
}

// hostFD is the file descriptor that connects to the host.
const hostFD = 3

// openStream opens an inherited file descriptor.
func openStream(fd uintptr) (*os.File, error) {
	f := os.NewFile(fd, "host")
	if f == nil {
		return nil, errors.New("no connection to the host")
	}
	if _, err := f.Stat(); err != nil {
		return nil, errors.New("no connection to the host")
	}
	return f, nil
}
