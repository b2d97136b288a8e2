package input

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	uv "github.com/charmbracelet/ultraviolet"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// openPTY returns both ends of a pseudo terminal, and a function that returns what the program wrote.
func openPTY(t *testing.T) (user, program *os.File, written func() string) {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = user.Close() })
	fd := int(user.Fd())
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	resize(t, user, 80, 24)
	var mu sync.Mutex
	var all strings.Builder
	go func() {
		buf := make([]byte, 1024)
		for {
			n, err := user.Read(buf)
			mu.Lock()
			all.Write(buf[:n])
			mu.Unlock()
			if err != nil {
				return
			}
		}
	}()
	return user, program, func() string { mu.Lock(); defer mu.Unlock(); return all.String() }
}

func resize(t *testing.T, user *os.File, width, height uint16) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(user.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: width, Row: height}); err != nil {
		t.Fatal(err)
	}
}

func lflag(t *testing.T, f *os.File) uint32 {
	t.Helper()
	s, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return s.Lflag
}

func next(t *testing.T, r *Reader) uv.Event {
	t.Helper()
	select {
	case e := <-r.Events():
		return e
	case <-time.After(10 * time.Second):
		t.Fatal("no event")
		return nil
	}
}

func open(t *testing.T) (r *Reader, user, program *os.File, written func() string) {
	t.Helper()
	user, program, written = openPTY(t)
	r, err := Open(program, program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	if e := next(t, r); e != (uv.WindowSizeEvent{Width: 80, Height: 24}) {
		t.Fatalf("first event %v", e)
	}
	return r, user, program, written
}

func TestReader(t *testing.T) {
	r, user, program, _ := open(t)
	if lflag(t, program)&(unix.ICANON|unix.ECHO|unix.ISIG) != 0 {
		t.Error("the terminal is not in raw mode")
	}
	_, _ = io.WriteString(user, "a\x1b[200~b\x1b[201~")
	if got := names([]uv.Event{next(t, r), next(t, r)}); got != `a paste "b"` {
		t.Errorf("got %s", got)
	}
	start := time.Now()
	_, _ = io.WriteString(user, "\x1b")
	if got := names([]uv.Event{next(t, r)}); got != "esc" {
		t.Errorf("got %s", got)
	}
	if d := time.Since(start); d > 500*time.Millisecond { // 25 ms on an idle machine
		t.Errorf("Escape takes %v", d)
	} else {
		t.Logf("Escape takes %v", d)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if lflag(t, program)&(unix.ICANON|unix.ECHO) != unix.ICANON|unix.ECHO {
		t.Error("Close did not restore the terminal")
	}
	if _, ok := <-r.Events(); ok {
		t.Error("an event after Close")
	}
}

func TestResize(t *testing.T) {
	r, user, _, _ := open(t)
	resize(t, user, 60, 20)
	_ = unix.Kill(os.Getpid(), unix.SIGWINCH) // the pseudo terminal is not the controlling terminal
	if e := next(t, r); e != (uv.WindowSizeEvent{Width: 60, Height: 20}) {
		t.Errorf("got %v", e)
	}
}

func TestSuspend(t *testing.T) {
	for name, signal := range map[string]bool{"continued": true, "the stop was ignored": false} {
		t.Run(name, func(t *testing.T) {
			r, _, program, _ := open(t)
			r.stop = func() error {
				if lflag(t, program)&unix.ICANON == 0 {
					t.Error("the shell gets a raw terminal")
				}
				if signal {
					return unix.Kill(os.Getpid(), unix.SIGCONT)
				}
				return nil
			}
			if err := r.Suspend(); err != nil {
				t.Fatal(err)
			}
			if e := next(t, r); e != (Resumed{}) {
				t.Errorf("got %v", e)
			}
			if lflag(t, program)&unix.ICANON != 0 {
				t.Error("the terminal is not raw again")
			}
		})
	}
}

// A signal that continues the program after the time for a stop has ended resumes it only once: another
// [Resumed] would make the program draw its block a second time.
func TestSuspendOnce(t *testing.T) {
	_, program, _ := openPTY(t)
	old, err := term.GetState(int(program.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r := &Reader{
			in: program, out: io.Discard, old: old, stop: func() error { return nil }, // the program stops a moment later
			size:   func() (int, int, error) { return 80, 24, nil },
			events: make(chan uv.Event, 64), quit: make(chan struct{}), retry: time.NewTimer(time.Hour),
		}
		if err := r.enter(); err != nil {
			t.Fatal(err)
		}
		signals := make(chan os.Signal)
		go r.loop(make(chan []byte), signals)
		if err := r.Suspend(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(stopDelay + continueDelay/2)
		signals <- unix.SIGCONT
		time.Sleep(time.Minute)
		close(r.quit)
		resumed := 0
		for e := range r.Events() {
			if e == (Resumed{}) {
				resumed++
			}
		}
		if resumed != 1 {
			t.Errorf("resumed %d times", resumed)
		}
	})
}

func TestGuard(t *testing.T) {
	r, _, program, _ := open(t)
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic is lost")
			}
		}()
		defer r.Guard()
		panic("bug")
	}()
	if lflag(t, program)&unix.ICANON == 0 {
		t.Error("a panic leaves the terminal raw")
	}
}

func TestModes(t *testing.T) {
	r, _, _, written := open(t)
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); written() != enterModes+leaveModes; {
		if time.Now().After(deadline) {
			t.Fatalf("wrote %q", written())
		}
	}
}

// The mouse is on only when the program wants it, and off when it leaves.
func TestMouse(t *testing.T) {
	r, _, _, written := open(t)
	for _, on := range []bool{false, true, true} {
		if err := r.Mouse(on); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); written() != enterModes+mouseModes+leaveModes; {
		if time.Now().After(deadline) {
			t.Fatalf("wrote %q", written())
		}
	}
}

// The answer to the question for the background is an event. Close waits for
// an answer that is on its way, so that it does not reach the shell.
func TestBackground(t *testing.T) {
	user, program, written := openPTY(t)
	r, err := Open(program, program)
	if err != nil {
		t.Fatal(err)
	}
	next(t, r) // the size
	if err := r.AskBackground(); err != nil {
		t.Fatal(err)
	}
	for !strings.Contains(written(), askBackground) {
		time.Sleep(time.Millisecond)
	}
	_, _ = user.WriteString("\x1b]11;rgb:ffff/ffff/ffff\x1b\\x")
	if e, ok := next(t, r).(uv.BackgroundColorEvent); !ok || e.IsDark() {
		t.Errorf("%#v", e)
	}
	if k, ok := next(t, r).(uv.KeyPressEvent); !ok || k.Text != "x" {
		t.Errorf("%#v", k)
	}
	r.mu.Lock()
	r.asked = time.Now()
	r.mu.Unlock()
	closed := make(chan error)
	go func() { closed <- r.Close() }()
	select {
	case <-closed:
		t.Error("Close does not wait for the answer")
	case <-time.After(50 * time.Millisecond):
	}
	_, _ = user.WriteString("\x1b[?62;c")
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if time.Since(r.asked) >= answerDelay {
		t.Error("Close did not see the answer")
	}
}
