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

// attempt is one way out of the sandbox. What it does is a function or a script of
// the shell; it succeeds with nil or status 0.
type attempt struct {
	id, what string
	try      func(*outside) error
	script   string

	root     bool // takes root's power where there is no sandbox: so the control is root's
	apart    bool // the control has mounts of its own, so that the machine keeps its own as they are
	inner    bool // success is seen by the command alone; the host has nothing to look at
	private  bool // that it works is right as long as the host sees nothing: the command has such a place of its own
	strict   bool // it is about placeholders
	refused  bool // that the sandbox does not open is as good
	stdin    bool // standard input is outside/file, open for reading
	stdout   bool // standard output is outside/file, open for appending
	lingers  bool // what appears in the workspace after the end is harm
	tty      bool // the supervisor has a terminal
	terminal bool // and the command, too

	absent     func() string                        // why this machine has not what the control needs; "" is nothing
	settings   func(*fixture) *sandbox.Settings     // default: the secrets are denied
	folders    func(*fixture) []string              // default: the workspace
	arrange    func(*testing.T, *fixture)           // on the host, before
	before     string                               // a script that is an earlier command of the same sandbox
	beside     string                               // one that runs, in the same sandbox, while the probe waits for it
	during     func(*fixture, <-chan struct{})      // on the host, meanwhile; the channel closes at the end
	after      func(*testing.T, *fixture, *outcome) // on the host, when all is over
	documented func(*fixture, *outcome) string      // success is documented where this says nothing
}

// run makes the attempt plainly and under the sandbox, as one caller.
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

// control wants that the attempt succeeds where nothing stops it.
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

// sandboxed wants that the attempt fails under the sandbox, or comes to nothing: what it made was
// moved away and is told. Strict, it fails.
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

// tally counts what was shown, so that what was skipped is never silent.
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
