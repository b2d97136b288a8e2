//go:build unix

package vendoragent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/workspace/claude"
	"github.com/holdfast-dev/holdfast/internal/workspace/claude/claudetest"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendoragent"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestMain(m *testing.M) {
	if claudetest.IsStandIn() {
		os.Exit(claudetest.Main())
	}
	if os.Getenv("HOLDFAST_TEST_HOST") != "" {
		killedHost()
		return
	}
	os.Exit(m.Run())
}

// process is a vendor agent that runs on this machine, without a container.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    io.Reader
	stderr bytes.Buffer
	mu     sync.Mutex
	done   chan struct{}
	oom    bool
}

func (p *process) Stdin() io.WriteCloser { return p.in }
func (p *process) Stdout() io.Reader     { return p.out }

func (p *process) Stderr() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.String()
}

func (p *process) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stderr.Write(b)
}

func (p *process) Wait(ctx context.Context) (vendoragent.Exit, error) {
	select {
	case <-p.done:
	case <-ctx.Done():
		return vendoragent.Exit{}, ctx.Err()
	}
	e := vendoragent.Exit{Code: p.cmd.ProcessState.ExitCode(), OOM: p.oom}
	if ws := p.cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		e.Signal = ws.Signal().String()
	}
	return e, nil
}

func (p *process) Kill(context.Context) error {
	return syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
}

func (p *process) Close() error { _ = p.Kill(context.Background()); <-p.done; return nil }

// vendorEnv is a workspace on this machine: a home, a project, sessions.
type vendorEnv struct {
	t             testing.TB
	home, project string
	sessions      *session.Sessions
	options       vendoragent.Options
	started       []*process
	mu            sync.Mutex
	oom           bool
	fail          error // of the next start
}

func newVendorEnv(t testing.TB) *vendorEnv {
	t.Helper()
	return vendorEnvIn(t, t.TempDir(), session.New(memory.New(), nil))
}

func vendorEnvIn(t testing.TB, dir string, sessions *session.Sessions) *vendorEnv {
	s := &vendorEnv{t: t, home: filepath.Join(dir, "home"), project: filepath.Join(dir, "project"), sessions: sessions}
	for _, d := range []string{s.home, s.project} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	s.options = vendoragent.Options{
		Vendor: claude.Driver{}, Start: s.start, Ready: s.ready, Sessions: sessions, Workspace: "blog", WorkspaceID: "w1",
		PathMap: vendoragent.PathMap{Work: "/work", Home: "/home/agent", All: []vendoragent.PathMapping{{Host: s.project, Inside: "/work"}, {Host: s.home, Inside: "/home/agent"}}},
	}
	return s
}

// ready does the workspace's check: a regular file, and no link on the way.
func (s *vendorEnv) ready(file string) (size int64, err error) {
	dir := s.home
	for part := range strings.SplitSeq(file, "/") {
		dir = filepath.Join(dir, part)
		info, err := os.Lstat(dir)
		switch {
		case errors.Is(err, os.ErrNotExist):
			return 0, errors.New("missing")
		case err != nil:
			return 0, err
		case info.Mode().Type()&^os.ModeDir != 0, strings.HasSuffix(part, ".jsonl") && !info.Mode().IsRegular():
			return 0, errors.New("not a regular file")
		}
		size = info.Size()
	}
	return size, nil
}

func (s *vendorEnv) start(_ context.Context, spec vendoragent.Spec) (vendoragent.Process, error) {
	if s.fail != nil {
		return nil, s.fail
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(exe, spec.Args[1:]...), done: make(chan struct{}), oom: s.oom}
	p.cmd.Dir = s.project
	p.cmd.Env = append(spec.Env, claudetest.Variable, "HOME="+s.home, "PATH="+os.Getenv("PATH"), "HOLDFAST_TEST_CLAUDE_CWD=/work")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.cmd.Stderr = p
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p.out, p.cmd.Stdout = r, w
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	_ = w.Close()
	go func() { _ = p.cmd.Wait(); close(p.done) }()
	s.mu.Lock()
	s.started = append(s.started, p)
	s.mu.Unlock()
	return p, nil
}

// testAgent is a vendor agent of the environment, for one session.
type testAgent struct {
	*agent.Agent
	g *vendoragent.VendorAgent
}

func (p *testAgent) close() { _ = p.Close(); p.g.Close() }

func (s *vendorEnv) agent(id string, o agent.Options) *testAgent {
	s.t.Helper()
	g, err := vendoragent.New(s.options)
	if err != nil {
		s.t.Fatal(err)
	}
	o.Sessions = s.sessions
	o.Session.SessionID = id
	o.Session.Opened.CWD = s.project
	if o.Permissions.Config.Folders == nil && o.Permissions.Guards == nil {
		o.Permissions.Config.Folders = []string{s.project}
	}
	o = g.Agent(o)
	a, err := agent.New(g, &o)
	if err != nil {
		s.t.Fatal(err)
	}
	g.Attach(a)
	p := &testAgent{a, g}
	s.t.Cleanup(p.close)
	return p
}

// allowing allows every tool without an approval request.
func allowing() agent.Options {
	return agent.Options{Permissions: agent.Permissions{Config: policy.Config{Mode: policy.ModeBypass}}}
}

// answering asks about everything and always gives the same answer.
func answering(d approval.Answer) agent.Options {
	return agent.Options{Permissions: agent.Permissions{Ask: func(context.Context, approval.Request) (approval.Answer, error) { return d, nil }}}
}

type turn struct {
	events []event.Event
	res    event.Result
	err    error
}

func (p *testAgent) turn(t testing.TB, text string) turn {
	t.Helper()
	return p.turnIn(t.Context(), text)
}

func (p *testAgent) turnIn(ctx context.Context, text string) (out turn) {
	for e, err := range p.Run(ctx, transcript.Text{Text: text}) {
		if err != nil {
			out.err = err
			return out
		}
		out.events = append(out.events, e)
		if r, ok := e.(event.Result); ok {
			out.res = r
		}
	}
	return out
}

func (o turn) text() string {
	var b strings.Builder
	for _, e := range o.events {
		if d, ok := e.(event.TextDelta); ok {
			b.WriteString(d.Text)
		}
	}
	return b.String()
}

func (o turn) notices() string {
	var all []string
	for _, e := range o.events {
		if n, ok := e.(event.Notice); ok {
			all = append(all, n.Text)
		}
	}
	return strings.Join(all, "\n")
}

// recordWords returns a session's records as words: kinds, roles and decisions.
func (s *vendorEnv) recordWords(id string) string {
	s.t.Helper()
	var all []string
	for r, err := range s.sessions.Records(s.t.Context(), id, session.Range{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		word := string(r.Kind)
		switch r.Kind {
		case record.KindOpened:
			continue
		case session.KindItem:
			it, err := record.ReadItem(r.Payload)
			if err != nil {
				s.t.Fatal(err)
			}
			word = string(it.Item.Role())
			if n := len(it.Item.UseIDs()); n > 0 {
				word += fmt.Sprintf("(%d)", n)
			}
		case record.KindDecision:
			var d policy.Decision
			_ = json.Unmarshal(r.Payload, &d)
			word = "decision:" + string(d.Effect)
		case record.KindVendorMapped:
			var m vendoragent.Mapping
			_ = json.Unmarshal(r.Payload, &m)
			word = fmt.Sprintf("mapped:%d", m.Generation)
		case record.KindWorkspaceEvent:
			var e vendoragent.Event
			_ = json.Unmarshal(r.Payload, &e)
			word = e.Event
		case record.KindTurnClosed:
			var c record.TurnClosed
			_ = json.Unmarshal(r.Payload, &c)
			word = "closed:" + c.Reason
		}
		all = append(all, word)
	}
	return strings.Join(all, " ")
}

func (s *vendorEnv) mappings(id string) (all []vendoragent.Mapping) {
	s.t.Helper()
	for r, err := range s.sessions.Records(s.t.Context(), id, session.Range{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		if r.Kind == record.KindVendorMapped {
			var m vendoragent.Mapping
			if err := json.Unmarshal(r.Payload, &m); err != nil {
				s.t.Fatal(err)
			}
			all = append(all, m)
		}
	}
	return all
}

func (s *vendorEnv) calls() []claudetest.Call {
	s.t.Helper()
	calls, err := claudetest.Calls(s.home)
	if err != nil {
		s.t.Fatal(err)
	}
	return calls
}

func (c caller) has(flag string) bool {
	for i, a := range c.Args {
		if a == flag && i+1 < len(c.Args) {
			return true
		}
	}
	return false
}

type caller struct{ claudetest.Call }

func has(c claudetest.Call, flag string) bool { return caller{c}.has(flag) }
