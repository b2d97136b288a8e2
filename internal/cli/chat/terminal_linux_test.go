package chat

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/holdfast-dev/holdfast/internal/term/input"
	"github.com/holdfast-dev/holdfast/internal/term/live"
)

// openPTY returns the program's end of a pseudo terminal.
func openPTY(t *testing.T) *os.File {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = user.Close() })
	if err := unix.IoctlSetPointerInt(int(user.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Skip(err)
	}
	n, err := unix.IoctlGetInt(int(user.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Skip(err)
	}
	program, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { _ = program.Close() })
	return program
}

// broken panics when something is drawn.
type broken struct{}

func (broken) Write([]byte) (int, error) { panic("broken") }

// The shell gets a usable terminal, although drawing panics again while the terminal is given back.
func TestPanic(t *testing.T) {
	terminal := openPTY(t)
	modes := func() uint32 {
		s, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		return s.Lflag
	}
	before := modes()
	keys, err := input.Open(terminal, terminal)
	if err != nil {
		t.Fatal(err)
	}
	if modes() == before {
		t.Fatal("the terminal is not raw")
	}
	x := talk(t, "steps: [{text: Hello.}]", nil)
	s := &screen{u: x.u, in: terminal, out: terminal, keys: keys, draw: live.New(broken{}, nil)}
	func() {
		defer func() {
			if v := recover(); v != "broken" {
				t.Errorf("the loop panics with %v", v)
			}
		}()
		_ = s.loop(t.Context())
		t.Error("the loop ends without a panic")
	}()
	if modes() != before {
		t.Error("the terminal is still raw")
	}
}
