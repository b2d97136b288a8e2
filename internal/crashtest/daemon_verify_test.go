//go:build linux

package crashtest

import (
	"os/exec"
	"slices"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
)

// verify lets the program verify its own store.
func (s *daemonSeries) verify(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{{"sessions", "verify", "--all"}, {"audit", "verify"}} {
		c := exec.CommandContext(t.Context(), s.bin, args...)
		c.Dir, c.Env = s.home, environ(s.home)
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

// logRecords logs the records of the run and of its agents.
func (s *daemonSeries) logRecords(t *testing.T) {
	t.Helper()
	store, err := OpenStore("sqlite", s.home)
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range slices.Compact(append([]string{s.run.id}, s.run.sessions...)) {
		for r, err := range session.New(store, nil).Records(t.Context(), id, session.Range{}) {
			t.Logf("%s %d %s %.400s %v", id, r.Seq, r.Kind, r.Payload, err)
		}
	}
	if err := CloseStore(store); err != nil {
		t.Error(err)
	}
}
