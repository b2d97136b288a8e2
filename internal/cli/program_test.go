package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/version"
)

// The zero Program works, except that it needs arguments.
func TestZeroProgram(t *testing.T) {
	p := command.Program{Args: []string{"version"}}
	if code := Run(t.Context(), &p); code != 0 {
		t.Errorf("exit code %d", code)
	}
	p = command.Program{Args: []string{"sessions", "list"}}
	if code := Run(t.Context(), &p); code != outcome.Usage.Exit {
		t.Errorf("without a home: exit code %d", code)
	}
}

const hangingPlay = `
chunk: 1
delay: {chunk: 24h}
steps:
  - text: it never ends
`

// A signal interrupts the turn, which is saved and can be resumed; the exit code contains the signal.
func TestSignals(t *testing.T) {
	for _, tt := range []struct {
		sig  os.Signal
		by   outcome.Outcome
		code int
	}{
		{os.Interrupt, outcome.Interrupted, 130},
		{syscall.SIGTERM, outcome.Terminated, 143},
	} {
		t.Run(tt.sig.String(), func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, "play.yaml", hangingPlay)
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			r, w := io.Pipe()
			p, _, errs := program(t, dir, "run", "-m", "scripted/play.yaml", "--session-id", "s", "--output-format", "stream-json", "go")
			p.Stdout = w
			code := make(chan int, 1)
			go func() {
				code <- Run(ctx, p)
				_ = w.Close()
			}()
			var out strings.Builder
			buf := make([]byte, 4096)
			for {
				n, err := r.Read(buf)
				out.Write(buf[:n])
				if strings.Contains(out.String(), `"subtype":"init"`) {
					cancel(command.SignalError{Signal: tt.sig, By: tt.by})
				}
				if err != nil {
					break
				}
			}
			if got := <-code; got != tt.code {
				t.Errorf("exit code %d, want %d; stderr %s", got, tt.code, errs)
			}
			if !strings.Contains(out.String(), `"terminal_reason":"interrupted"`) {
				t.Errorf("no result: %s", &out)
			}
			p, shown, _ := program(t, dir, "sessions", "list", "--json")
			if code := Run(t.Context(), p); code != 0 || !strings.Contains(shown.String(), `"state":"idle"`) {
				t.Errorf("afterwards: code %d, %s", code, shown)
			}
		})
	}
}

// A signal before the start also ends the command.
func TestSignalBeforeStart(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "play.yaml", hangingPlay)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(command.SignalError{Signal: os.Interrupt, By: outcome.Interrupted})
	for _, args := range [][]string{{"run", "-m", "scripted/play.yaml", "go"}, {"demo"}} {
		p, _, _ := program(t, dir, args...)
		p.Executable = func() (string, error) { return "/nowhere", nil }
		p.Env = append(p.Env, "TMPDIR="+dir)
		if code := Run(ctx, p); code != 130 && args[0] == "run" || code == 0 {
			t.Errorf("%v: exit code %d", args, code)
		}
	}
}

// failing is a writer that fails, like a closed pipe or a full disk.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// Output that cannot be written stops a run and is an error.
func TestOutputFails(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "play.yaml", "steps: [{text: hi}]")
	p, _, errs := program(t, dir, "run", "-m", "scripted/play.yaml", "--output-format", "stream-json", "go")
	p.Stdout = failing{}
	if code := Run(t.Context(), p); code != 1 || !strings.Contains(errs.String(), "no space left") {
		t.Errorf("exit code %d, stderr %q", code, errs)
	}
}

// Package version cannot import package session, so it repeats the number.
func TestSessionFormat(t *testing.T) {
	if version.SessionFormat != record.FormatVersion {
		t.Errorf("version.SessionFormat is %d, session.FormatVersion %d", version.SessionFormat, record.FormatVersion)
	}
}

// main.go stays short.
func TestMainIsShort(t *testing.T) {
	b, err := os.ReadFile(filepath.Join("..", "..", "cmd", "holdfast", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(b), "\n"); n > 20 {
		t.Errorf("main.go has %d lines", n)
	}
}
