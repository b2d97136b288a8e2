package confine

import (
	"os"
	"os/signal"
	"slices"
	"sync"

	"github.com/holdfast-dev/holdfast/sandbox"
)

// signalRelay passes signals on to a command.
type signalRelay struct {
	drop     []os.Signal
	ch       chan os.Signal
	catching sync.WaitGroup
	done     chan struct{}
	gone     sync.WaitGroup
}

// newRelay begins to catch signals. A command with the terminal gets from the
// terminal itself what its keys and its size cause; passing that on would be twice.
// What we are told to ignore, as by nohup, is left alone.
func newRelay(terminal bool) *signalRelay {
	r := &signalRelay{ch: make(chan os.Signal, 16), done: make(chan struct{})}
	if terminal {
		r.drop = keyboardSignals // and not ignored, since the command would inherit that
	}
	r.catching.Go(func() {
		for _, s := range forwardedSignals {
			if !signal.Ignored(s) {
				signal.Notify(r.ch, s) // two turns of a locked thread each
			}
		}
	})
	return r
}

// wait returns when signals are caught. It is called before a command starts.
func (r *signalRelay) wait() { r.catching.Wait() }

// start passes on what has come since newRelay, and what comes.
func (r *signalRelay) start(cmd *sandbox.Cmd) {
	r.gone.Go(func() {
		for {
			select {
			case s := <-r.ch:
				if !slices.Contains(r.drop, s) {
					_ = cmd.Signal(s) // it may have ended just now
				}
			case <-r.done:
				return
			}
		}
	})
}

// stop passes nothing on any more.
func (r *signalRelay) stop() {
	signal.Stop(r.ch)
	close(r.done)
	r.gone.Wait()
}
