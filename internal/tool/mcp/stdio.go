package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/holdfast-dev/holdfast/internal/environ"
	"github.com/holdfast-dev/holdfast/internal/procgroup"
	"github.com/holdfast-dev/holdfast/internal/truncate"
)

// process is a stdio server that runs.
//
//	sdk ─ Writer ─► pipe ─► 0 │ server │ 1 ─► pipe ─► lines ─ Reader ─► sdk
//	                          └────────┘ 2 ─► the last of it, for errors
type process struct {
	in, out *os.File // this program's ends of the pipes
	lines   *lines
	errs    *stderrTail
	signal  func(syscall.Signal) error
	refused func() map[string]int // the number of accesses that its sandbox has refused so far, by the setting that allows them; may be nil
	spawn   func(func())          // runs a goroutine that the client waits for

	ending sync.Once
	done   chan struct{} // closed when the process was reaped
	status string        // exit status; valid after done is closed
}

// graceTime is how long a server has to exit after its input ends, and again after a signal.
const graceTime = time.Second

// stdio starts a server and returns its transport. When the server ends, the transport is closed;
// when the transport is closed, the server ends.
func (c *Client) stdio(ctx context.Context, s *Server) (sdk.Transport, *process, error) {
	p, err := c.startProcess(s)
	if err != nil {
		return nil, nil, s.wrapError("starting the server failed", err)
	}
	context.AfterFunc(ctx, func() { p.end() })
	return &sdk.IOTransport{Reader: p.lines, Writer: p, MaxLineLength: maxMessage + 1024}, p, nil
}

// startProcess starts the command of a server. The variables of the server are already expanded.
func (c *Client) startProcess(s *Server) (*process, error) {
	theirIn, ourOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	ourIn, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirIn.Close(), ourOut.Close())
	}
	p := &process{in: ourOut, out: ourIn, errs: &stderrTail{}, spawn: c.goroutines.Go, done: make(chan struct{})}
	p.lines = newLines(ourIn, p.errs, func() { p.end() })
	start := c.startUnconfined
	if c.o.Sandbox != nil {
		start = c.startConfined
	}
	wait, err := start(s, p, theirIn, theirOut)
	err = errors.Join(err, theirIn.Close(), theirOut.Close())
	if err != nil {
		_, _ = p.in.Close(), p.out.Close()
		if words := p.errs.String(); words != "" {
			err = fmt.Errorf("%w; the server wrote: %s", err, words)
		}
		return nil, err
	}
	c.goroutines.Go(func() {
		p.status = wait()
		close(p.done)
		p.end()
	})
	return p, nil
}

// startConfined starts the server in the sandbox. When the server ends, all its child processes are killed.
func (c *Client) startConfined(s *Server, p *process, in, out *os.File) (wait func() string, err error) {
	cmd := c.o.Sandbox.Command(context.WithoutCancel(c.ctx), s.Command, s.Args...)
	cmd.Dir, cmd.PrivateLocalhost = c.dirOf(s), true // the server's environment may contain keys, so commands must not reach its ports
	cmd.Env = environOf(c.o.Sandbox.Environ(c.o.Environ), s, cmd.Dir)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, p.errs
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.signal = func(sig syscall.Signal) error { return cmd.Signal(sig) }
	p.refused = cmd.Refused
	return func() string {
		err := cmd.Wait()
		status := "exit status 0"
		if err != nil {
			status = err.Error()
		}
		r := cmd.Report()
		if r != nil && c.o.Notice != nil {
			for _, m := range r.Moved {
				c.o.Notice(fmt.Sprintf("MCP server %q created %s, a protected path: it was moved to quarantine; hint: restore it with holdfast sandbox quarantine --restore %s", s.Name, m.Path, m.ID))
			}
		}
		if refused := strings.TrimSpace(r.Text()); refused != "" {
			status += "; " + truncate.String(refused, 1000)
		}
		return status
	}, nil
}

// startUnconfined starts the server without a sandbox, in its own process group.
func (c *Client) startUnconfined(s *Server, p *process, in, out *os.File) (wait func() string, err error) {
	dir := c.dirOf(s)
	env := environOf(environ.ForSandbox(c.o.Environ), s, dir)
	path, err := lookPath(s.Command, dir, env)
	if err != nil {
		return nil, err
	}
	cmd := &exec.Cmd{
		Path: path, Args: append([]string{s.Command}, s.Args...), Env: env, Dir: dir,
		Stdin: in, Stdout: out, Stderr: p.errs, SysProcAttr: procgroup.NewGroup(), WaitDelay: graceTime,
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	var mu sync.Mutex
	over := false
	p.signal = func(sig syscall.Signal) error {
		mu.Lock()
		defer mu.Unlock()
		if over { // the process id may already be reused
			return os.ErrProcessDone
		}
		return procgroup.Signal(cmd.Process, sig)
	}
	return func() string {
		err := cmd.Wait()
		_ = p.signal(syscall.SIGKILL) // remaining child processes
		mu.Lock()
		over = true
		mu.Unlock()
		if cmd.ProcessState == nil {
			return err.Error()
		}
		return cmd.ProcessState.String()
	}, nil
}

// dirOf returns the folder in which a server starts.
func (c *Client) dirOf(s *Server) string {
	switch {
	case s.Dir == "":
		return c.o.Dir
	case !filepath.IsAbs(s.Dir):
		return filepath.Join(c.o.Dir, s.Dir)
	}
	return s.Dir
}

// environOf returns the environment of a server with the additions of its definition.
func environOf(base []string, s *Server, dir string) []string {
	env := slices.DeleteFunc(slices.Clone(base), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		_, own := s.Env[name]
		return own
	})
	names := slices.Sorted(mapKeys(s.Env))
	for _, name := range names {
		env = append(env, name+"="+s.Env[name])
	}
	if _, own := s.Env["PWD"]; !own {
		env = append(env, "PWD="+dir)
	}
	return env
}

// lookPath finds a program in the PATH of the server's environment.
func lookPath(name, dir string, env []string) (string, error) {
	if strings.ContainsRune(name, '/') || filepath.IsAbs(name) {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return exec.LookPath(name)
	}
	list, _ := variable(env)("PATH")
	for _, folder := range filepath.SplitList(list) {
		if !filepath.IsAbs(folder) {
			continue // a program in the start folder itself is not used
		}
		if path, err := exec.LookPath(filepath.Join(folder, name)); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("program %q not found in PATH", name)
}

// Write sends data to the server.
func (p *process) Write(b []byte) (int, error) { return p.in.Write(b) }

// Close ends the server.
func (p *process) Close() error {
	p.end()
	return nil
}

// end stops the server. It first closes the input, then sends a signal, and finally kills the
// server. It returns immediately; done is closed when the server has ended.
func (p *process) end() {
	p.ending.Do(func() {
		_ = p.in.Close()
		p.spawn(func() {
			t := time.NewTimer(graceTime)
			defer t.Stop()
			for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
				select {
				case <-p.done:
				case <-t.C:
					_ = p.signal(sig)
					t.Reset(graceTime)
				}
			}
			<-p.done
			t.Reset(graceTime / 2)
			select {
			case <-p.lines.over: // all output has been read
			case <-t.C: // another process still has the pipe open
			}
			_ = p.out.Close()
		})
	})
}

// exitText returns how the server ended, if this is known.
func (p *process) exitText() string {
	if p == nil {
		return ""
	}
	status := ""
	select {
	case <-p.done:
		status = p.status
	case <-time.After(graceTime / 2):
	}
	return cmp.Or(status, stillRuns)
}

const stillRuns = "it still runs"

// stderrTail keeps the last output on a server's standard error.
type stderrTail struct {
	mu   sync.Mutex
	last []byte
	cut  bool
}

const maxStderrTail = 4 << 10

func (w *stderrTail) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = append(w.last, b[max(0, len(b)-maxStderrTail):]...)
	if over := len(w.last) - maxStderrTail; over > 0 {
		w.last, w.cut = append(w.last[:0], w.last[over:]...), true
	}
	return len(b), nil
}

// String returns the end of the output as printable text, without control characters.
func (w *stderrTail) String() string {
	if w == nil {
		return ""
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.TrimSpace(shown(string(w.last)))
	if w.cut && text != "" {
		text = "…" + text
	}
	return text
}

// shown makes a server's text safe for a terminal: valid UTF-8 without control characters.
func shown(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\t':
			return r
		case r < ' ', r >= 0x7f && r < 0xa0, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, r == 0xfeff, r == 0x200b:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

var _ io.WriteCloser = (*process)(nil)
