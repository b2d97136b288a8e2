//go:build linux

package escape

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
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// order is what a supervisor does; it is stored in a file.
type order struct {
	Plain      bool // no sandbox: the control
	Settings   json.RawMessage
	Folders    []string
	Home       string
	State      string
	Quarantine string // where files with forbidden names are moved; "": placeholders block these names
	Out        string // stays open, like a file that a careless parent leaves open
	Dir        string
	Before     []string
	Probe      []string
	Beside     []string
	Ready      string // exists when the probe waits
	Go         string // exists when the probe may continue
	Linger     string // appears if a process of the command continues after its end
	Stdin      string // a file that the command reads
	Stdout     string // a file that the command appends to
	Terminal   bool
	Apart      bool // an unconfined command has a separate mount namespace
}

// report is what a supervisor reports at the end.
type report struct {
	Absent  bool // this machine has no kernel sandbox
	Open    string
	Start   string
	Code    int
	Out     string
	Total   int    // bytes of output
	Tail    string // the end of the output
	Notices string
	Report  string // the sandbox's report about the command
	Lingers bool   // a process continued after the end
	Limits  bool   // its limits were changed
}

// leaked is the number of a descriptor that the supervisor leaves open on exec.
const leaked = 9

// runner is the common part of exec.Cmd and sandbox.Cmd.
type runner interface {
	Start() error
	Wait() error
}

// supervise runs the order in a folder, and writes its report there.
func supervise(base string) int {
	var o order
	if b, err := os.ReadFile(filepath.Join(base, "order.json")); err != nil || json.Unmarshal(b, &o) != nil {
		fmt.Fprintln(os.Stderr, "no order:", err)
		return 1
	}
	r := o.execute()
	b, _ := json.Marshal(r)
	if err := os.WriteFile(filepath.Join(base, "report.json"), b, 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (o *order) execute() *report {
	if fd, err := unix.Open(o.Out, unix.O_RDONLY|unix.O_DIRECTORY, 0); err == nil {
		_ = unix.Dup3(fd, leaked, 0)
		_ = unix.Close(fd)
	}
	r := &report{Code: -1}
	box, err := o.open()
	if err != nil {
		r.Absent = errors.Is(err, kernel.ErrUnsupported)
		r.Open = words(err)
		return r
	}
	if box != nil {
		defer box.Close()
		r.Notices = fmt.Sprint(box.Notices())
		o.warm(box)
	}
	if o.Before != nil {
		c := o.command(box, o.Before, io.Discard)
		if err := c.Start(); err != nil {
			r.Start = words(err)
			return r
		}
		_ = c.Wait()
	}
	out := &headAndTail{max: 1 << 20}
	before, _ := os.ReadFile("/proc/self/limits")
	var streams [2]*os.File
	for i, name := range []string{o.Stdin, o.Stdout} {
		if name != "" {
			var err error
			if streams[i], err = os.OpenFile(name, []int{os.O_RDONLY, os.O_WRONLY | os.O_APPEND}[i], 0); err != nil {
				r.Start = err.Error()
				return r
			}
		}
	}
	c := o.command(box, o.Probe, out)
	redirect(c, streams)
	if err := c.Start(); err != nil {
		r.Start = words(err)
		return r
	}
	if o.Beside != nil && appears(o.Ready, 20*time.Second) {
		b := o.command(box, o.Beside, io.Discard)
		if b.Start() == nil {
			_ = b.Wait()
		}
		_ = os.WriteFile(o.Go, nil, 0o600)
	}
	err = c.Wait()
	if c, ok := c.(*sandbox.Cmd); ok {
		r.Report = c.Report().Text()
	}
	r.Code, r.Out, r.Total, r.Tail = status(err), out.String(), out.total, out.tail
	if err != nil && r.Code < 0 {
		r.Start = words(err)
	}
	if o.Linger != "" {
		_ = os.WriteFile(o.Go, nil, 0o600)
		r.Lingers = appears(o.Linger, 700*time.Millisecond)
	}
	after, _ := os.ReadFile("/proc/self/limits")
	r.Limits = !bytes.Equal(before, after)
	return r
}

// warm runs a command before the probe, so that the probe enters the shared namespaces: the commands of a
// sandbox without network share them from the second one on. Commands with network settings each have their
// own. If the sandbox starts nothing, the probe reports it.
func (o *order) warm(box *sandbox.Sandbox) {
	if c := box.Command(context.Background(), "/bin/true"); c.Start() == nil {
		_ = c.Wait()
	}
}

// open opens the sandbox; a control has none.
func (o *order) open() (*sandbox.Sandbox, error) {
	if o.Plain {
		return nil, nil
	}
	s := &sandbox.Settings{}
	if err := s.Decode(o.Settings); err != nil {
		return nil, err
	}
	k, err := sandbox.NewChecker(s, &sandbox.Options{Home: o.Home, Dir: o.Home})
	if err != nil {
		return nil, err
	}
	return sandbox.Open([]*sandbox.Checker{k}, &sandbox.OpenOptions{Folders: o.Folders, Home: o.Home, State: []string{o.State}, Quarantine: o.Quarantine})
}

func (o *order) command(box *sandbox.Sandbox, argv []string, out io.Writer) runner {
	if box == nil {
		c := exec.Command(argv[0], argv[1:]...)
		c.Dir, c.Stdout, c.Stderr = o.Dir, out, out
		if o.Terminal {
			c.Stdin, c.Stdout, c.Stderr = os.Stdin, os.Stdin, os.Stdin
		}
		if o.Apart {
			c.SysProcAttr = &syscall.SysProcAttr{Unshareflags: unix.CLONE_NEWNS}
		}
		c.WaitDelay = time.Second // a surviving process may hold the pipe open
		return c
	}
	c := box.Command(context.Background(), argv[0], argv[1:]...)
	c.Dir, c.Stdout, c.Stderr = o.Dir, out, out
	if o.Terminal {
		c.Stdin, c.Stdout, c.Stderr, c.Terminal = os.Stdin, os.Stdin, os.Stdin, true
	}
	c.WaitDelay = time.Second
	return c
}

// redirect passes files of the host to a command as its standard streams.
func redirect(r runner, streams [2]*os.File) {
	in, out := streams[0], streams[1]
	switch c := r.(type) {
	case *exec.Cmd:
		if in != nil {
			c.Stdin = in
		}
		if out != nil {
			c.Stdout = out
		}
	case *sandbox.Cmd:
		if in != nil {
			c.Stdin = in
		}
		if out != nil {
			c.Stdout = out
		}
	}
}

// status returns how a command ended: its exit code, 128 plus the signal, or -1 if it did not run.
func status(err error) int {
	if err == nil || errors.Is(err, exec.ErrWaitDelay) {
		return 0
	}
	if e, ok := errors.AsType[*exec.ExitError](err); ok {
		return shellCode(e.Sys().(syscall.WaitStatus))
	}
	if e, ok := errors.AsType[*sandbox.ExitError](err); ok {
		return shellCode(e.Status)
	}
	return -1
}

func shellCode(w syscall.WaitStatus) int {
	if w.Signaled() {
		return 128 + int(w.Signal())
	}
	return w.ExitStatus()
}

// words returns an error with its hint.
func words(err error) string {
	if h, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return err.Error() + "; hint: " + h.Hint()
	}
	return err.Error()
}

// headAndTail keeps the first and the last bytes that are written to it.
type headAndTail struct {
	first bytes.Buffer
	max   int
	total int
	tail  string
}

func (e *headAndTail) String() string { return e.first.String() }

func (e *headAndTail) Write(p []byte) (int, error) {
	if room := e.max - e.first.Len(); room > 0 {
		e.first.Write(p[:min(room, len(p))])
	}
	e.total += len(p)
	e.tail += string(p[max(0, len(p)-200):])
	e.tail = e.tail[max(0, len(e.tail)-200):]
	return len(p), nil
}
