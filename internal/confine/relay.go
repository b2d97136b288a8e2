package confine

import (
	"os"
	"os/signal"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/sandbox"
)

// relay passes signals on to a command.
type relay struct {
	cmd  *sandbox.Cmd
	drop []os.Signal
	ch   chan os.Signal
	done chan struct{}
	gone sync.WaitGroup
}

// newRelay catches signals from now on. A command with the terminal gets from the
// terminal itself what its keys and its size cause; passing that on would be twice.
// What we are told to ignore, as by nohup, is left alone.
func newRelay(cmd *sandbox.Cmd, terminal bool) *relay {
	r := &relay{cmd: cmd, ch: make(chan os.Signal, 16), done: make(chan struct{})}
	for _, s := range relayed {
		if !signal.Ignored(s) {
			signal.Notify(r.ch, s)
		}
	}
	if terminal {
		r.drop = keyed // and not ignored, since the command would inherit that
	}
	return r
}

// start passes on what has come since, and what comes.
func (r *relay) start() {
	r.gone.Go(func() {
		for {
			select {
			case s := <-r.ch:
				if !slices.Contains(r.drop, s) {
					_ = r.cmd.Signal(s) // it may have ended just now
				}
			case <-r.done:
				return
			}
		}
	})
}

// stop passes nothing on any more.
func (r *relay) stop() {
	signal.Stop(r.ch)
	close(r.done)
	r.gone.Wait()
}
