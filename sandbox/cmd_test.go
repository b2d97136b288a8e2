//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// openBox opens a sandbox with settings in JSON and a new workspace.
func openBox(t testing.TB, settings string) (*Sandbox, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return openBoxIn(t, settings, dir), dir
}

// openBoxIn is openBox with a given workspace.
func openBoxIn(t testing.TB, settings, dir string) *Sandbox {
	t.Helper()
	if err := kernel.Namespaces(); err != nil {
		testneed.Need(t, "no namespaces can be made here (%v): run this outside of a container", err)
	}
	box, err := Open([]*Checker{checker(t, settings, &Options{Dir: dir, Trusted: true})}, &OpenOptions{Folders: []string{dir}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	return box
}

// sh returns a command that runs a shell script in a sandbox.
func sh(t testing.TB, box *Sandbox, line string) *Cmd {
	t.Helper()
	return box.Command(t.Context(), "/bin/sh", "-c", line)
}

func TestCmdOutput(t *testing.T) {
	box, dir := openBox(t, `{}`)
	out, err := sh(t, box, "pwd; echo $HOLDFAST_SANDBOX $PWD; echo bad >&2").Output()
	if want := dir + "\n1 " + dir + "\n"; err != nil || string(out) != want {
		t.Errorf("%q, %v", out, err)
	}
	out, err = sh(t, box, "echo good; echo bad >&2; exit 3").Output()
	e, ok := errors.AsType[*ExitError](err)
	if !ok || string(out) != "good\n" || string(e.Stderr) != "bad\n" || e.ExitCode() != 3 || e.Error() != "exit status 3" {
		t.Errorf("%q, %v, %+v", out, err, e)
	}
	out, err = sh(t, box, "echo a; echo b >&2; echo c").CombinedOutput()
	if err != nil || string(out) != "a\nb\nc\n" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestCmdState(t *testing.T) {
	box, _ := openBox(t, `{}`)
	for _, tt := range []struct {
		line string
		code int
		text string
	}{
		{"exit 0", 0, "exit status 0"},
		{"exit 255", 255, "exit status 255"},
		{"kill -TERM $$", -1, "signal: terminated"},
		{"kill -KILL $$", -1, "signal: killed"},
	} {
		c := sh(t, box, tt.line)
		err := c.Run()
		if s := c.State(); s == nil || s.ExitCode() != tt.code || s.String() != tt.text || s.Success() != (err == nil) || s.Pid() <= 0 {
			t.Errorf("%s: %v, %v", tt.line, c.State(), err)
		}
		if c.Report().Text() != "" {
			t.Errorf("%s: it tells %q", tt.line, c.Report().Text())
		}
		if err := c.Kill(); !errors.Is(err, os.ErrProcessDone) {
			t.Errorf("%s: a signal afterwards: %v", tt.line, err)
		}
	}
}

func TestCmdStreams(t *testing.T) {
	box, _ := openBox(t, `{}`)
	c := box.Command(t.Context(), "cat")
	c.Stdin = strings.NewReader(strings.Repeat("line\n", 100_000))
	var out bytes.Buffer
	c.Stdout = &out
	if err := c.Run(); err != nil || out.Len() != 500_000 {
		t.Errorf("%d bytes, %v", out.Len(), err)
	}
	// A command that does not read its whole input.
	c = box.Command(t.Context(), "true")
	c.Stdin = strings.NewReader(strings.Repeat("line\n", 100_000))
	if err := c.Run(); err != nil {
		t.Error(err)
	}
	// The error of a failing writer is returned.
	c = box.Command(t.Context(), "echo", "x")
	c.Stdout = failingWriter{}
	if err := c.Run(); err == nil || !strings.Contains(err.Error(), "full") {
		t.Error(err)
	}
}

type failingWriter struct{}

func (failingWriter) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func TestCmdPipes(t *testing.T) {
	for _, settings := range []string{`{}`, `{"limits":{"outputBytes":"1MiB"}}`} {
		box, _ := openBox(t, settings)
		c := sh(t, box, "while read l; do echo got $l; done; echo end >&2")
		in, err := c.StdinPipe()
		out, err2 := c.StdoutPipe()
		errs, err3 := c.StderrPipe()
		if err := errors.Join(err, err2, err3, c.Start()); err != nil {
			t.Fatal(err)
		}
		buf := make([]byte, 100)
		for _, word := range []string{"one", "two"} { // a dialogue, not one write
			if _, err := io.WriteString(in, word+"\n"); err != nil {
				t.Fatal(err)
			}
			n, err := out.Read(buf)
			if err != nil || string(buf[:n]) != "got "+word+"\n" {
				t.Fatalf("%q, %v", buf[:n], err)
			}
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		rest, err := io.ReadAll(out)
		stderr, err2 := io.ReadAll(errs)
		if err := errors.Join(err, err2, c.Wait()); err != nil || len(rest) > 0 || string(stderr) != "end\n" {
			t.Errorf("%s: %q, %q, %v", settings, rest, stderr, err)
		}
	}
}

func TestCmdMisuse(t *testing.T) {
	box, _ := openBox(t, `{}`)
	c := box.Command(t.Context(), "true")
	if c.Wait() == nil || c.Kill() == nil || c.State() != nil || c.Report() != nil || c.Pid() != 0 {
		t.Error("a command that was not started has something")
	}
	if err := c.Run(); err != nil {
		t.Fatal(err)
	}
	if c.Wait() == nil || c.Start() == nil {
		t.Error("a command can be used twice")
	}
	if (&Cmd{Path: "/bin/true"}).Run() == nil {
		t.Error("a command without a sandbox runs")
	}
	c = box.Command(t.Context(), "true")
	c.Stdout = io.Discard
	if _, err := c.Output(); err == nil {
		t.Error("Output with a Stdout")
	}
	if _, err := c.StdoutPipe(); err == nil {
		t.Error("StdoutPipe with a Stdout")
	}
}

// A command that could not start is reported as such, with the same error as exec.Cmd's.
func TestCmdCouldNotStart(t *testing.T) {
	box, dir := openBox(t, `{}`)
	write := func(name, text string, mode os.FileMode) string {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return name
	}
	for _, tt := range []struct {
		name string
		err  error
	}{
		{"no-such-program", exec.ErrNotFound},
		{"/no/such/program", fs.ErrNotExist},
		{write("data", "x", 0o644), fs.ErrPermission},
		{write("orphan", "#!/no/such/interpreter\n", 0o755), fs.ErrNotExist},
		{write("garbage", "\x00\x01garbage", 0o755), syscall.ENOEXEC},
	} {
		c := box.Command(t.Context(), tt.name)
		err := c.Run()
		if !errors.Is(err, tt.err) || c.State() != nil {
			t.Errorf("%s: %v, %v", tt.name, err, c.State())
		}
		if text := c.Report().Text(); !strings.HasPrefix(text, "sandbox: could not start: ") {
			t.Errorf("%s: %q", tt.name, text)
		}
	}
}

// The end of the context ends all processes of the command.
func TestCmdContext(t *testing.T) {
	box, _ := openBox(t, `{}`)
	ctx, cancel := context.WithCancel(t.Context())
	c := box.Command(ctx, "/bin/sh", "-c", "setsid sleep 1000 & echo up; sleep 1000")
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
		t.Fatal(err)
	}
	cancel()
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 { // ends when no process has it open any more
		t.Errorf("%q, %v", rest, err)
	}
	if err := c.Wait(); err == nil || c.State().String() != "signal: killed" {
		t.Errorf("%v, %v", err, c.State())
	}
	if c := box.Command(ctx, "true"); !errors.Is(c.Run(), context.Canceled) {
		t.Error("it starts under a context that has ended")
	}
}

// Cancel may ask the command to end first.
func TestCmdCancel(t *testing.T) {
	box, _ := openBox(t, `{}`)
	for _, tt := range []struct {
		line, end string
		delay     time.Duration
	}{
		{"trap 'exit 7' TERM; echo up; while :; do sleep 0.01; done", "exit status 7", time.Minute},
		{"trap '' TERM; echo up; while :; do sleep 0.01; done", "signal: killed", 300 * time.Millisecond},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		c := box.Command(ctx, "/bin/sh", "-c", tt.line)
		c.Cancel = func() error { return c.Signal(syscall.SIGTERM) }
		c.WaitDelay = tt.delay
		out, err := c.StdoutPipe()
		if err := errors.Join(err, c.Start()); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(out, make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		cancel()
		if err := c.Wait(); err == nil || err.Error() != tt.end {
			t.Errorf("%s: %v", tt.line, err)
		}
	}
}

// A reader that never returns delays Wait by at most WaitDelay.
func TestCmdWaitDelay(t *testing.T) {
	box, _ := openBox(t, `{}`)
	r, w := io.Pipe()
	defer w.Close()
	c := box.Command(t.Context(), "true")
	c.Stdin, c.WaitDelay = r, 50*time.Millisecond
	if err := c.Run(); !errors.Is(err, exec.ErrWaitDelay) {
		t.Error(err)
	}
}

func TestCmdLimits(t *testing.T) {
	for _, tt := range []struct {
		settings, line, limit, text string
	}{
		{`{"limits":{"wallTime":"200ms"}}`, "sleep 1000", "wallTime", "it ran longer than allowed (limits.wallTime"},
		{`{"limits":{"outputBytes":"4KiB"}}`, "head -c 100000 /dev/zero", "outputBytes", "more output than allowed"},
		{`{"limits":{"fileSize":"64KiB"}}`, "head -c 100000 /dev/zero > big", "fileSize", "a file grew larger than allowed"},
	} {
		box, _ := openBox(t, tt.settings)
		c := sh(t, box, tt.line)
		var out bytes.Buffer
		c.Stdout, c.Stderr = &out, &out
		_ = c.Run()
		r := c.Report()
		if len(r.Violations) != 1 || r.Violations[0].Subject != tt.limit || !strings.Contains(r.Text(), tt.text) {
			t.Errorf("%s: %+v, %q, output %.100q", tt.settings, r, r.Text(), out.String())
		}
		if r.WallTime != (tt.limit == "wallTime") || (r.Dropped > 0) != (tt.limit == "outputBytes") {
			t.Errorf("%s: %+v", tt.settings, r)
		}
		if tt.limit == "outputBytes" && !strings.HasSuffix(out.String(), "\n[output limit of 4 KiB reached; 95904 bytes dropped]\n") {
			t.Errorf("output %d bytes, ends in %q", out.Len(), out.String()[max(0, out.Len()-80):])
		}
	}
}

// Output to a file counts against the limit, too.
func TestCmdLimitsFile(t *testing.T) {
	box, dir := openBox(t, `{"limits":{"outputBytes":"2KiB"}}`)
	f, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c := sh(t, box, "head -c 5000 /dev/zero")
	c.Stdout = f
	if err := c.Run(); err != nil || c.Report().Dropped != 5000-2048 {
		t.Errorf("%v, %+v", err, c.Report())
	}
}
