package testneed_test

import (
	"flag"
	"fmt"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// watch is a test that records how it ended.
type watch struct {
	testing.TB
	ended string
}

func (w *watch) Helper() {}

func (w *watch) Fatalf(format string, args ...any) { panic("failed: " + fmt.Sprintf(format, args...)) }

func (w *watch) Skip(args ...any) { panic("skipped: " + fmt.Sprint(args...)) }

func (w *watch) Skipf(format string, args ...any) { panic("skipped: " + fmt.Sprintf(format, args...)) }

func TestSkip(t *testing.T) {
	for ci, want := range map[string]string{"true": "failed: no rg", "": "skipped: no rg", "false": "skipped: no rg"} {
		t.Setenv("CI", ci)
		w := &watch{TB: t}
		func() {
			defer func() { w.ended, _ = recover().(string) }()
			testneed.Need(w, "no %s", "rg")
		}()
		if w.ended != want {
			t.Errorf("CI=%q: %q, want %q", ci, w.ended, want)
		}
	}
}

func TestHeavy(t *testing.T) {
	t.Setenv("CI", "true")
	before := flag.Lookup("test.short").Value.String()
	t.Cleanup(func() { _ = flag.Set("test.short", before) })
	for short, want := range map[string]string{"true": "skipped: no Debian", "false": "failed: no Debian"} {
		if err := flag.Set("test.short", short); err != nil {
			t.Fatal(err)
		}
		w := &watch{TB: t}
		func() {
			defer func() { w.ended, _ = recover().(string) }()
			testneed.Heavy(w, "no %s", "Debian")
		}()
		if w.ended != want {
			t.Errorf("-short=%s: %q, want %q", short, w.ended, want)
		}
	}
}

// Root and User depend on who runs the tests: exactly one of the two skips, also in CI.
func TestRootAndUser(t *testing.T) {
	t.Setenv("CI", "true")
	skipped := 0
	for _, end := range []func(testing.TB){func(t testing.TB) { testneed.Root(t, "mounting") }, testneed.User} {
		w := &watch{TB: t}
		func() {
			defer func() { w.ended, _ = recover().(string) }()
			end(w)
		}()
		if w.ended != "" {
			skipped++
		}
	}
	if skipped != 1 {
		t.Errorf("%d of the two were skipped, want 1", skipped)
	}
}
