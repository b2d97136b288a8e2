package workspace

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/internal/workspace/testimage"
)

// A turn that fills the disk is ended with an error that names the cause.
func TestProcessFillsDisk(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	w.watchTime = 10 * time.Millisecond
	_, err := w.Create(t.Context(), Settings{Slug: "blog", Image: image, Limits: Limits{Memory: 256 << 20, Disk: 4 << 20}})
	okay(t, err)
	c := ensure(t, w, "blog")
	p, err := startIn(t.Context(), c, supervisor.Spec{ID: "one", Args: []string{"holdfast", "fill", "/home/agent/big"}, Dir: "/", Grace: -1})
	okay(t, err)
	if exit, err := p.Wait(t.Context()); !errors.Is(err, ErrQuota) || exit.Signal != "SIGKILL" || !strings.Contains(hint(err), "workspace du blog") {
		t.Errorf("%+v, %v", exit, err)
	}
	if got, err := (vendorProcess{p}).Wait(t.Context()); err != nil || !errors.Is(got.Err, ErrQuota) || !strings.Contains(got.Detail, "wrote more than 4m") {
		t.Errorf("%+v, %v", got, err)
	}
	okay(t, p.Close())
	if err := w.CheckDisk(t.Context(), "blog"); !errors.Is(err, ErrQuota) {
		t.Errorf("the next turn: %v", err)
	}
}

// A process whose disk use exceeds the limit by less than a tenth may continue; without a limit nothing is
// measured.
func TestOverLimit(t *testing.T) {
	d := newDiskEnv(t)
	s := d.make(Settings{Slug: "a", Limits: Limits{Disk: 1 << 20}})
	file := filepath.Join(d.dirs(s).Home, "file")
	for size, over := range map[int]bool{1 << 19: false, 1<<20 + 1<<15: false, 2 << 20: true} {
		okay(t, os.WriteFile(file, make([]byte, size), 0o600))
		if err := d.overLimit(t.Context(), "a"); errors.Is(err, ErrQuota) != over || err != nil && !over {
			t.Errorf("%d: %v", size, err)
		}
	}
	_, err := d.Set(t.Context(), "a", func(s *Settings) error { s.Limits.Disk = Unlimited; return nil })
	okay(t, err)
	okay(t, d.overLimit(t.Context(), "a"))
	okay(t, os.RemoveAll(d.at("a")))
	if err := d.overLimit(t.Context(), "a"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
}
