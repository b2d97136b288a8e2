// Package testneed ends a test that lacks something it needs: by a skip on
// somebody's machine, by a failure in CI, where everything is installed first
// and a skip would hide that it was not.
//
//	test ──► program, server or right is not there ──► missing.Skip ──► CI=true? fail : skip
//
//	if _, err := exec.LookPath("rg"); err != nil {
//		missing.Skip(t, "no rg on the PATH: apt-get install ripgrep makes this run")
//	}
//
// Who runs the tests is no such thing: some tests need root, and some need somebody who is
// not. Each ends with a skip where the other kind runs it; `.ci/run` runs both kinds.
//
// The package is for tests only.
package testneed

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Need ends the test with the reason, which names the command that makes it run.
func Need(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// Heavy is [Need] for what takes minutes to get or to run: with -short, which `make test`
// has and `make test-all` has not, nobody wants it, also in CI.
func Heavy(t testing.TB, format string, args ...any) {
	t.Helper()
	if testing.Short() {
		t.Skipf(format, args...)
	}
	Need(t, format, args...)
}

// Root skips the test unless root runs it. what names the action that needs root, such as
// "mounting". It skips in CI, too: CI as root runs the test.
func Root(t testing.TB, what string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skipf("%s needs root: run the tests as root", what)
	}
}

// User skips the test when root runs it, whom no file mode stops. scripts/test-as-user runs
// every test that calls it as an ordinary user, as a part of `make test-all`.
func User(t testing.TB) {
	t.Helper()
	if os.Getuid() == 0 {
		t.Skip("root may read and write everything: scripts/test-as-user runs this as an ordinary user")
	}
}

// OutsideTmp returns a folder that outlives the test and is neither /tmp nor below it, since
// sandboxed commands have a /tmp of their own: /srv for root, else the home folder.
// False: the home folder lies below /tmp, too.
func OutsideTmp() (dir string, ok bool) {
	if os.Getuid() == 0 {
		return "/srv", true
	}
	home, err := filepath.EvalSymlinks(os.Getenv("HOME"))
	return home, err == nil && !UnderTmp(home)
}

// UnderTmp reports whether sandboxed commands see something else at path than everybody.
func UnderTmp(path string) bool {
	return strings.HasPrefix(path+"/", "/tmp/") || strings.HasPrefix(path+"/", "/var/tmp/")
}
