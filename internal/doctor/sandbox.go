package doctor

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/internal/diskfile"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// sandboxCheck is the name of the check that the sandbox works.
const sandboxCheck = "sandbox"

// sandboxChecks checks the sandbox mechanisms of this machine, and whether they work.
func (x *examination) sandboxChecks(ctx context.Context) []Check {
	var out []Check
	for _, m := range kernel.Probe() {
		k := Check{m.Name, "ok", m.Detail, ""}
		if !m.Available {
			k = Check{m.Name, "warn", "absent: " + m.Detail, m.Consequence}
		}
		out = append(out, k)
	}
	return append(out, x.selfTest(ctx))
}

// selfTest runs one command in the sandbox, and a second one that writes to a path where writing is
// not allowed.
func (x *examination) selfTest(ctx context.Context) Check {
	began := x.env.Now()
	elapsed, err := x.tryConfined(ctx)
	if err != nil {
		hint := outcome.Hint(err)
		if hint == "" {
			hint = "commands cannot be sandboxed on this machine; see the missing mechanisms above"
		}
		return Check{sandboxCheck, "fail", "cannot run a command in the sandbox: " + err.Error(), hint}
	}
	return Check{sandboxCheck, "ok", fmt.Sprintf(
		"/bin/true runs confined in %.1f ms; a write outside was refused (both in %s)",
		float64(elapsed.Microseconds())/1000, term.Elapsed(x.env.Now().Sub(began))), ""}
}

func (x *examination) tryConfined(ctx context.Context) (elapsed time.Duration, err error) {
	dir, err := diskfile.OpenScratch("", "holdfast-doctor-", os.RemoveAll)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	o := &sandbox.OpenOptions{Folders: []string{dir.Path}, Home: x.env.UserHome()}
	if home, err := x.env.Home(); err == nil {
		o.State = []string{home}
	}
	box, err := sandbox.Open(nil, o)
	if err != nil {
		return 0, err
	}
	defer box.Close()
	first := box.Command(ctx, "/bin/true")
	if err := first.Run(); err != nil {
		return 0, err
	}
	return first.State().Elapsed, checkRefusal(ctx, box)
}

// checkRefusal checks from outside that the write did not happen, and that the sandbox reported a
// refusal.
func checkRefusal(ctx context.Context, box *sandbox.Sandbox) error {
	target := "/holdfast-doctor-" + strconv.Itoa(os.Getpid())
	c := box.Command(ctx, "/bin/sh", "-c", `echo x > "$0"`, target)
	_, err := c.CombinedOutput()
	if _, there := os.Lstat(target); err == nil || there == nil {
		_ = os.Remove(target)
		return fmt.Errorf("a write to %s was not refused", target)
	}
	if !slices.ContainsFunc(c.Report().Violations, func(v sandbox.Violation) bool { return v.Subject == target }) {
		return fmt.Errorf("a write to %s failed, but not because of the sandbox: %w", target, err)
	}
	return nil
}
