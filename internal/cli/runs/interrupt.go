package runs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/session"
)

// interrupt interrupts a `holdfast run` of another process, as Ctrl-C in its terminal does. It
// returns false if the holder of the lease is not known to be such a process on this machine: any
// other program, such as a daemon, can have more to do than this run.
func interrupt(h session.Holder) bool {
	me, ok := sameMachine(h)
	if !ok {
		return false
	}
	process, err := os.FindProcess(h.PID) // a handle: the signal cannot reach a later process with this pid
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }()
	return !h.HasEnded(me) && isRun(h) && process.Signal(os.Interrupt) == nil
}

// sameMachine reports whether the holder's pid has a meaning here. me describes this machine.
func sameMachine(h session.Holder) (me session.Holder, ok bool) {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	me = session.Holder{Boot: strings.TrimSpace(string(boot)), PIDNS: namespace}
	return me, me.Boot != "" && me.PIDNS != "" && h.Boot == me.Boot && h.PIDNS == me.PIDNS && h.PID != 0 && h.Started != 0
}

// commandOf returns the first argument of a process of this program; ok is false for another program.
func commandOf(h session.Holder) (first string, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", h.PID))
	args := strings.Split(strings.TrimSuffix(string(b), "\x00"), "\x00")
	if err != nil || !slices.Contains([]string{"holdfast", filepath.Base(os.Args[0])}, h.Command) {
		return "", false
	}
	if len(args) > 1 {
		first = args[1]
	}
	return first, true
}

// isRun reports whether a process is `holdfast run`.
func isRun(h session.Holder) bool {
	first, ok := commandOf(h)
	return ok && slices.Contains([]string{"run", "-p"}, first)
}

// isConversation reports whether a process on this machine is a conversation that has the run itself: this
// program, but not as the daemon.
func isConversation(h session.Holder) bool {
	me, here := sameMachine(h)
	first, ok := commandOf(h)
	return here && !h.HasEnded(me) && ok && first != "daemon"
}

const (
	// endLimit is how long a run that was interrupted has time to save and end.
	endLimit = 15 * time.Second
	endEvery = 50 * time.Millisecond
)

// waitEnd waits until the process that was interrupted has given up the session.
func waitEnd(ctx context.Context, s *session.Sessions, id string, h session.Holder) error {
	late := time.NewTimer(endLimit)
	defer late.Stop()
	tick := time.NewTicker(endEvery)
	defer tick.Stop()
	for {
		lease, err := s.Lease(ctx, id)
		if err != nil || lease == nil || lease.Holder.ID != h.ID {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-late.C:
			return &outcome.Failure{
				Message: fmt.Sprintf("session %s was interrupted, but has not ended yet: %s", id, h), Result: outcome.Busy,
				Advice: "if it is suspended, continue it with fg in its terminal; to end it now, run holdfast stop again",
			}
		case <-tick.C:
		}
	}
}
