package cli

import (
	"context"
	"io"
	"os"
	"testing"
	"testing/synctest"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// A signal also ends a command that waits for standard input.
func TestSignalWhileReadingInput(t *testing.T) {
	dir, home := t.TempDir(), t.TempDir()
	for _, args := range [][]string{
		{"policy", "check", "--batch", "-"},
		{"sandbox", "check", "--settings", "{}", "--batch", "-"},
		{"hooks", "test", "Stop", "--input", "-"},
		{"run", "-m", "scripted/none.yaml"},
		{"run", "-m", "scripted/none.yaml", "-"},
	} {
		for signal, by := range map[os.Signal]outcome.Outcome{os.Interrupt: outcome.Interrupted, os.Kill: outcome.Terminated} {
			synctest.Test(t, func(t *testing.T) {
				in, typed := io.Pipe()
				ctx, cancel := context.WithCancelCause(t.Context())
				code := make(chan int, 1)
				p := &command.Program{
					Args: args, Env: []string{"HOME=" + home, "HOLDFAST_HOME=" + home, "HOLDFAST_NO_DAEMON=1"}, Stdin: in,
					Getwd: func() (string, error) { return dir, nil },
				}
				go func() { code <- Run(ctx, p) }()
				synctest.Wait()
				cancel(command.SignalError{Signal: signal, By: by})
				synctest.Wait()
				select {
				case got := <-code:
					if got != by.Exit {
						t.Errorf("%q ended with %d, want %d", args, got, by.Exit)
					}
				default:
					t.Errorf("%q still waits for input", args)
				}
				_ = typed.Close()
				synctest.Wait()
			})
		}
	}
}
