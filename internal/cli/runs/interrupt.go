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
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	namespace, _ := os.Readlink("/proc/self/ns/pid")
	me := session.Holder{Boot: strings.TrimSpace(string(boot)), PIDNS: namespace}
	if me.Boot == "" || me.PIDNS == "" || h.Boot != me.Boot || h.PIDNS != me.PIDNS || h.PID == 0 || h.Started == 0 {
		return false
	}
	process, err := os.FindProcess(h.PID) // a handle: the signal cannot reach a later process with this pid
	if err != nil {
		return false
	}
	defer func() { _ = process.Release() }()
	return !h.HasEnded(me) && isRun(h) && process.Signal(os.Interrupt) == nil
}

// isRun reports whether a process is `holdfast run`.
func isRun(h session.Holder) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", h.PID))
	args := strings.Split(string(b), "\x00")
	return err == nil && len(args) > 1 && slices.Contains([]string{"run", "-p"}, args[1]) &&
		slices.Contains([]string{"holdfast", filepath.Base(os.Args[0])}, h.Command)
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
