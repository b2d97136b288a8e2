//go:build linux && (amd64 || arm64)

package kernel

import (
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// open prepares a jail without confinement, in one of the two ways.
func open(t *testing.T, prepare func(*Policy) *Jail) *Jail {
	t.Helper()
	if _, err := Prepare(&Policy{Open: true}); errors.Is(err, ErrUnsupported) {
		testneed.Need(t, "no pid namespaces here: %v", err)
	}
	return prepare(&Policy{Open: true})
}

func TestOpenUnconfined(t *testing.T) {
	eachWay(t, func(t *testing.T, prepare func(*Policy) *Jail) {
		j := open(t, prepare)
		dir := t.TempDir()
		proc, r := start(t, j, Attr{Dir: dir}, "id -u; pwd; echo x > "+dir+"/made && cat "+dir+"/made; ls -d /tmp")
		state, err := proc.Wait()
		if err != nil || !state.Status.Exited() || state.Status.ExitStatus() != 0 {
			t.Fatal(state, err)
		}
		out, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if want := itoa(os.Getuid()) + "\n" + dir + "\nx\n/tmp\n"; string(out) != want {
			t.Errorf("it printed %q, want %q", out, want)
		}
	})
}

// All processes of a command end with it, however they detached themselves.
func TestOpenKillsDescendants(t *testing.T) {
	eachWay(t, func(t *testing.T, prepare func(*Policy) *Jail) {
		j := open(t, prepare)
		for name, script := range map[string]string{
			"in the background":  "sleep 1000 & echo on",
			"a session":          "setsid sleep 1000 & echo on",
			"two forks":          "(setsid sh -c 'sleep 1000 & ' &) ; echo on",
			"deaf to everything": "(trap '' TERM HUP INT; setsid sleep 1000 &) ; echo on",
		} {
			t.Run(name, func(t *testing.T) {
				proc, r := start(t, j, Attr{}, script)
				if _, err := proc.Wait(); err != nil {
					t.Fatal(err)
				}
				out, err := io.ReadAll(r) // ends when no process has the pipe open
				if err != nil || strings.TrimSpace(string(out)) != "on" {
					t.Errorf("%q, %v", out, err)
				}
			})
		}
	})
}

func TestOpenSignals(t *testing.T) {
	eachWay(t, func(t *testing.T, prepare func(*Policy) *Jail) {
		j := open(t, prepare)
		proc, r := start(t, j, Attr{}, "trap 'echo asked; exit 3' TERM; echo on; sleep 1000 & wait")
		if _, err := r.Read(make([]byte, 3)); err != nil {
			t.Fatal(err)
		}
		if err := proc.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		state, err := proc.Wait()
		if err != nil || state.Status.ExitStatus() != 3 {
			t.Fatal(state, err)
		}
	})
}
