//go:build unix

package workspace

import (
	"os"
	"os/signal"
	"sync"
	"syscall"

	xterm "golang.org/x/term"

	"github.com/holdfast-dev/holdfast/internal/supervisor"
)

// watchSize reports the terminal's new sizes until stop is called.
func watchSize(fd int) (sizes <-chan supervisor.Size, stop func()) {
	changed, out, done := make(chan os.Signal, 1), make(chan supervisor.Size), make(chan struct{})
	signal.Notify(changed, syscall.SIGWINCH)
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-changed:
			}
			cols, rows, err := xterm.GetSize(fd)
			if err != nil {
				continue
			}
			select {
			case out <- supervisor.Size{Rows: clampSize(rows), Cols: clampSize(cols)}:
			case <-done:
				return
			}
		}
	})
	return out, func() {
		signal.Stop(changed)
		close(done)
		watching.Wait()
	}
}
