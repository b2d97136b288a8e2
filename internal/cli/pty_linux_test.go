package cli

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

// terminal is a user at a terminal, in front of a running program.
type terminal struct {
	t      *testing.T
	master *os.File
	code   chan int

	mu   sync.Mutex
	seen bytes.Buffer
	more chan struct{} // one token when seen has grown
	at   int           // up to where expect has read
}

// startTerminal starts the program with a terminal as its three streams.
func startTerminal(t *testing.T, env []string, dir string, args ...string) *terminal {
	t.Helper()
	return startTerminalAfter(t, "", env, dir, args...)
}

// startTerminalAfter is startTerminal for a user who has typed something before the program started.
func startTerminalAfter(t *testing.T, typed string, env []string, dir string, args ...string) *terminal {
	t.Helper()
	return startTerminalWith(t, nil, typed, env, dir, args...)
}

// startTerminalWith is startTerminalAfter for a terminal of another size.
func startTerminalWith(t *testing.T, size *unix.Winsize, typed string, env []string, dir string, args ...string) *terminal {
	t.Helper()
	master, slave := openPTY(t)
	if size != nil {
		if err := unix.IoctlSetWinsize(int(slave.Fd()), unix.TIOCSWINSZ, size); err != nil {
			t.Fatal(err)
		}
	}
	c := &terminal{t: t, master: master, code: make(chan int, 1), more: make(chan struct{}, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	p := &command.Program{
		Args: args, Env: env, Stdin: slave, Stdout: slave, Stderr: slave,
		Getwd: func() (string, error) { return dir, nil },
	}
	if typed != "" { // a whole line, which has reached the terminal when the program starts
		c.press(typed)
		if n, err := unix.Poll([]unix.PollFd{{Fd: int32(slave.Fd()), Events: unix.POLLIN}}, 10_000); n != 1 {
			t.Fatalf("the terminal has no line: %v", err)
		}
	}
	go c.watch()
	go func() { c.code <- Run(ctx, p) }()
	t.Cleanup(func() {
		cancel()
		_ = slave.Close()
		_ = master.Close()
	})
	return c
}

// startTerminalProcess starts the program as a process of its own with a terminal as its three
// streams. The test ends it.
func startTerminalProcess(t *testing.T, env []string, dir string, args ...string) *terminal {
	t.Helper()
	master, slave := openPTY(t)
	c := &terminal{t: t, master: master, code: make(chan int, 1), more: make(chan struct{}, 1)}
	program, err := exec.LookPath("holdfast")
	if err != nil {
		t.Fatal(err)
	}
	p := exec.CommandContext(t.Context(), program, args...)
	p.Env, p.Dir, p.Stdin, p.Stdout, p.Stderr = env, dir, slave, slave, slave
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	p.Cancel = func() error { return p.Process.Signal(syscall.SIGTERM) }
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	_ = slave.Close()
	go c.watch()
	go func() {
		_ = p.Wait()
		c.code <- p.ProcessState.ExitCode()
	}()
	t.Cleanup(func() { _ = master.Close() })
	return c
}

func openPTY(t *testing.T) (master, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	master = os.NewFile(uintptr(fd), "ptmx")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatalf("open a terminal: %v", err)
	}
	return master, slave
}

func (c *terminal) watch() {
	buf := make([]byte, 4096)
	for {
		n, err := c.master.Read(buf)
		c.mu.Lock()
		c.seen.Write(buf[:n])
		c.mu.Unlock()
		select {
		case c.more <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// expect waits until the screen shows a pattern after the last match.
func (c *terminal) expect(pattern string) {
	c.t.Helper()
	re := regexp.MustCompile(pattern)
	giveUp := time.NewTimer(20 * time.Second)
	defer giveUp.Stop()
	for {
		c.mu.Lock()
		text := c.seen.String()
		c.mu.Unlock()
		if m := re.FindStringIndex(text[c.at:]); m != nil {
			c.at += m[1]
			return
		}
		select {
		case <-c.more:
		case <-giveUp.C:
			c.t.Fatalf("the screen never showed %q; it has:\n%s", pattern, text[c.at:])
		}
	}
}

// press types keys.
func (c *terminal) press(keys string) {
	c.t.Helper()
	if _, err := c.master.WriteString(keys); err != nil {
		c.t.Fatal(err)
	}
}

// exit waits for the program's exit code.
func (c *terminal) exit() int {
	c.t.Helper()
	select {
	case code := <-c.code:
		return code
	case <-time.After(20 * time.Second):
		c.t.Fatalf("the program does not end; the screen:\n%s", c.screen())
		return -1
	}
}

func (c *terminal) screen() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.ReplaceAll(c.seen.String(), "\r\n", "\n")
}
