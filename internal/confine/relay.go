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
	wg       sync.WaitGroup
}

// newRelay starts to catch signals. A command that has the terminal receives signals for keys such
// as Ctrl-C and for changes of size from the terminal itself; these signals are not passed on a
// second time. If this process ignores a signal, for example because of nohup, the signal stays
// ignored.
func newRelay(terminal bool) *signalRelay {
	r := &signalRelay{ch: make(chan os.Signal, 16), done: make(chan struct{})}
	if terminal {
		r.drop = keyboardSignals // signal.Ignore is not used, because the command would inherit it
	}
	r.catching.Go(func() {
		for _, s := range forwardedSignals {
			if !signal.Ignored(s) {
				signal.Notify(r.ch, s) // on a locked thread, each call costs two thread switches
			}
		}
	})
	return r
}

// wait returns when signals are caught. Call it before a command starts.
func (r *signalRelay) wait() { r.catching.Wait() }

// start relays the signals that were received since newRelay, and all later ones.
func (r *signalRelay) start(cmd *sandbox.Cmd) {
	r.wg.Go(func() {
		for {
			select {
			case s := <-r.ch:
				if !slices.Contains(r.drop, s) {
					_ = cmd.Signal(s) // the command may have just ended
				}
			case <-r.done:
				return
			}
		}
	})
}

// stop ends the relay of signals.
func (r *signalRelay) stop() {
	signal.Stop(r.ch)
	close(r.done)
	r.wg.Wait()
}
