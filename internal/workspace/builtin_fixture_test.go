//go:build unix

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/hostpipe"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/internal/testprogram"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// hostProcess is a process outside a container.
type hostProcess struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	stdout  io.Reader
	stderr  strings.Builder
	channel io.ReadWriteCloser
	once    sync.Once
	exit    supervisor.Exit
	err     error
}

func (p *hostProcess) Stdin() io.WriteCloser       { return p.stdin }
func (p *hostProcess) Stdout() io.Reader           { return p.stdout }
func (p *hostProcess) Stderr() string              { return "" }
func (p *hostProcess) Channel() io.ReadWriteCloser { return p.channel }
func (p *hostProcess) Close() error {
	return errors.Join(p.Kill(context.Background()), p.channel.Close())
}

func (p *hostProcess) Wait(context.Context) (supervisor.Exit, error) {
	p.once.Do(func() {
		err := p.cmd.Wait()
		if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok {
			p.err = err
		}
		status := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
		p.exit = supervisor.Exit{Code: p.cmd.ProcessState.ExitCode(), Stderr: p.stderr.String()}
		if status.Signaled() {
			p.exit.Code, p.exit.Signal = 128+int(status.Signal()), strings.ToUpper(status.Signal().String())
		}
	})
	return p.exit, p.err
}

func (p *hostProcess) Kill(ctx context.Context) error {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL) // it may have ended already
	_, err := p.Wait(ctx)
	return err
}

// builtinEnv is a project, a home, a store and a built-in agent that works there.
type builtinEnv struct {
	t        testing.TB
	dir      string
	home     string
	store    session.Store
	sessions *session.Sessions
	o        builtinOptions

	mu      sync.Mutex
	started []*hostProcess
}

// newBuiltinEnv returns an environment with a scripted model.
func newBuiltinEnv(t testing.TB, play string) *builtinEnv {
	t.Helper()
	h := &builtinEnv{t: t, dir: t.TempDir(), home: t.TempDir(), store: memory.New()}
	h.sessions = session.New(h.store, nil)
	h.o = builtinOptions{
		Sessions: h.sessions,
		Session:  session.RestoreOptions{SessionID: "s", Opened: session.Opened{CWD: "/host/project", Project: "workspace:w", User: "me"}},
		Models:   []model.Model{scriptedModel(t, play)},
		Spec:     hostpipe.Spec{Run: runspec.Spec{Cwd: h.dir, Permissions: runspec.Permissions{Mode: "bypassPermissions"}}, Settings: &settings.Portable{}},
		Start:    h.start,
		Program:  testprogram.Path(t),
	}
	return h
}

func scriptedModel(t testing.TB, text string) model.Model {
	t.Helper()
	m, err := scripted.New([]byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func (h *builtinEnv) start(_ context.Context, s supervisor.Spec) (agentProcess, error) {
	p := &hostProcess{cmd: exec.Command(s.Args[0], s.Args[1:]...)}
	p.cmd.Dir, p.cmd.Env = s.Dir, []string{"PATH=" + os.Getenv("PATH"), "HOME=" + h.home, "GOCOVERDIR=" + os.Getenv("GOCOVERDIR")}
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Stderr = &p.stderr
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if p.stdout, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	fds, err := socketPair()
	if err != nil {
		return nil, err
	}
	theirs := os.NewFile(uintptr(fds[1]), "theirs")
	p.channel = os.NewFile(uintptr(fds[0]), "host")
	p.cmd.ExtraFiles = []*os.File{theirs}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	h.mu.Lock()
	h.started = append(h.started, p)
	h.mu.Unlock()
	return p, theirs.Close()
}

// socketPair returns two connected sockets that no other program inherits.
func socketPair() ([2]int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return fds, err
	}
	for _, fd := range fds {
		syscall.CloseOnExec(fd)
		if err := syscall.SetNonblock(fd, true); err != nil {
			return fds, err
		}
	}
	return fds, nil
}

func (h *builtinEnv) last() *hostProcess {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.started[len(h.started)-1]
}

func (h *builtinEnv) agent() *builtinAgent {
	h.t.Helper()
	a, err := newBuiltin(h.o)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = a.Close() })
	return a
}

// run runs one turn and returns the names of its events and its result.
func (h *builtinEnv) run(ctx context.Context, a *builtinAgent, text string, look func(event.Event)) ([]string, *event.Result) {
	h.t.Helper()
	var parts []transcript.Part
	if text != "" {
		parts = append(parts, transcript.Text{Text: text})
	}
	var names []string
	for e, err := range a.Run(ctx, parts...) {
		if err != nil {
			h.t.Fatalf("after %v: %v", names, err)
		}
		_, name, _ := strings.Cut(fmt.Sprintf("%T", e), ".")
		if it, ok := e.(event.ItemAppended); ok {
			name = string(it.Item.Role())
		}
		names = append(names, name)
		if look != nil {
			look(e)
		}
		if res, ok := e.(event.Result); ok {
			return names, &res
		}
	}
	h.t.Fatalf("no result after %v", names)
	return nil, nil
}

// items returns the transcript of the log, one line per item.
func (h *builtinEnv) items() []string {
	h.t.Helper()
	m, err := h.sessions.Get(h.t.Context(), "s")
	if err != nil {
		h.t.Fatal(err)
	}
	state, err := h.sessions.StateAt(h.t.Context(), "s", m.Head)
	if err != nil {
		h.t.Fatal(err)
	}
	var list []string
	for _, e := range state.Items {
		text := e.Text()
		if it, err := e.Decode(); err == nil {
			for _, p := range it.Parts {
				if r, ok := p.(transcript.ToolResult); ok {
					text += r.Text()
				}
			}
		}
		list = append(list, string(e.Role())+": "+text)
	}
	return list
}

func (h *builtinEnv) checkLog() {
	h.t.Helper()
	r, err := h.sessions.Verify(h.t.Context(), "s")
	if err != nil || !r.OK() {
		h.t.Errorf("the log does not verify: %+v %v", r, err)
	}
}
