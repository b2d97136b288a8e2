//go:build linux

package escape

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// attempt is one attempt to escape. Its action is a function or a shell script; it succeeds with nil or
// status 0.
type attempt struct {
	id, what string
	try      func(*outside) error
	script   string

	root     bool // uses root's rights without a sandbox: so the control runs as root
	apart    bool // the control has a separate mount namespace, so that the machine's mounts do not change
	inner    bool // only the command sees its success; the host has nothing to check
	private  bool // success is correct if the host sees no effect: the command has a private place of that kind
	strict   bool // it is about placeholders
	refused  bool // a sandbox that does not open is also a pass
	stdin    bool // standard input is outside/file, open for reading
	stdout   bool // standard output is outside/file, open for appending
	lingers  bool // files that appear in the workspace after the end are harm
	tty      bool // the supervisor has a terminal
	terminal bool // and the command, too

	absent     func() string                        // why this machine lacks something that the control needs; "": nothing
	settings   func(*fixture) *sandbox.Settings     // default: the secrets are denied
	folders    func(*fixture) []string              // default: the workspace
	arrange    func(*testing.T, *fixture)           // on the host, before
	before     string                               // a script for an earlier command of the same sandbox
	beside     string                               // a script that runs in the same sandbox while the probe waits for it
	during     func(*fixture, <-chan struct{})      // on the host, meanwhile; the channel closes at the end
	after      func(*testing.T, *fixture, *outcome) // on the host, after the end
	documented func(*fixture, *outcome) string      // success is documented if this returns ""
}

// run makes the attempt with and without the sandbox, as one caller.
func (a *attempt) run(t *testing.T, c caller) {
	t.Helper()
	t.Run("control", func(t *testing.T) { a.control(t, c) })
	if !a.strict {
		t.Run("sandboxed", func(t *testing.T) { a.sandboxed(t, c, false) })
	}
	if a.strict || strings.ContainsRune("CGH", rune(a.id[0])) {
		t.Run("strict", func(t *testing.T) { a.sandboxed(t, c, true) })
	}
}

// control checks that the attempt succeeds without a sandbox.
func (a *attempt) control(t *testing.T, c caller) {
	if a.absent != nil {
		if why := a.absent(); why != "" {
			tally.skip(a.id, why)
			t.Skip(why)
		}
	}
	if a.root && c.uid != 0 {
		if !isRoot {
			why := "without a sandbox it takes root"
			tally.skip(a.id, why)
			testneed.Root(t, a.id)
		}
		c = rootCaller
	}
	f := newFixture(t, c, a)
	o := f.run(t, a, true)
	if o.code != 0 && !o.killed {
		t.Fatalf("%s: the attempt is broken, since nothing stops it and it fails: %s", a.what, o)
	}
	if len(o.harm) == 0 && !a.inner && !o.killed {
		t.Fatalf("%s: the attempt succeeds and nothing is seen on the host: %s", a.what, o)
	}
	tally.control(a.id)
}

// sandboxed checks that the attempt fails in the sandbox, or has no effect because its files were moved and
// reported. With strict, it must fail.
func (a *attempt) sandboxed(t *testing.T, c caller, strict bool) {
	f := newFixture(t, c, a)
	if strict {
		f.box.Quarantine = ""
	}
	o := f.run(t, a, false)
	switch {
	case o.absent:
		testneed.Need(t, "the kernel sandbox is not there: %s", o.open)
	case o.killed:
		t.Errorf("ESCAPED: %s: the supervisor was killed", a.what)
	case o.open != "" && a.refused:
	case o.open != "":
		t.Fatalf("the sandbox could not be opened: %s", o.open)
	case o.code == codeBroken:
		t.Fatalf("%s: the probe did not get to its attempt: %s", a.what, o)
	case o.code == 0 && a.documented != nil:
		if why := a.documented(f, o); why != "" {
			t.Errorf("ESCAPED: %s: %s", a.what, why)
		}
	case len(o.harm) > 0:
		t.Errorf("ESCAPED: %s: %s; %s", a.what, strings.Join(o.harm, "; "), o)
	case o.code == 0 && !strict && strings.Contains(o.report, "was moved to quarantine, because its name is protected"):
	case o.code == 0 && a.private:
	case o.code == 0:
		t.Errorf("ESCAPED: %s: %s", a.what, o)
	}
	tally.tried(a.id, c, !t.Failed())
}

// tally counts the results, so that skipped attempts are always reported.
var tally = &counts{controls: map[string]bool{}, skipped: map[string]string{}, stopped: map[string]int{}, tries: map[string]int{}}

type counts struct {
	mu             sync.Mutex
	controls       map[string]bool
	skipped        map[string]string
	stopped, tries map[string]int // by caller
}

func (c *counts) control(id string) { c.mu.Lock(); defer c.mu.Unlock(); c.controls[id] = true }

func (c *counts) skip(id, why string) { c.mu.Lock(); defer c.mu.Unlock(); c.skipped[id] = why }

func (c *counts) tried(id string, by caller, stopped bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries[by.name]++
	if stopped {
		c.stopped[by.name]++
	}
}

func (c *counts) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tries)+len(c.controls) == 0 {
		return ""
	}
	s := "escapes:"
	for _, by := range []string{"root", "user"} {
		if n := c.tries[by]; n > 0 {
			s += fmt.Sprintf(" %d of %d stopped as %s;", c.stopped[by], n, by)
		}
	}
	s += fmt.Sprintf(" %d with a control that succeeds, %d without one", len(c.controls), len(c.skipped))
	var ids []string
	for id := range c.skipped {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		s += fmt.Sprintf("\n  %s has no control here: %s", id, c.skipped[id])
	}
	return s
}
