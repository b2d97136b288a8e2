// Package testneed ends a test that lacks something it needs: by a skip on a developer's machine, and by a
// failure in CI, where everything is installed first and a skip would hide a failed installation.
//
//	test ──► program, server or right is missing ──► testneed.Need ──► CI=true? fail : skip
//
//	if _, err := exec.LookPath("rg"); err != nil {
//		testneed.Need(t, "no rg on the PATH: apt-get install ripgrep makes this run")
//	}
//
// The user is not such a need: some tests need root, and others need a user who is not root. Each of them is
// skipped for the other user, even in CI; `.ci/run` runs both.
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

// Heavy is [Need] for a requirement that takes minutes to install or to run: with -short, which `make test` uses
// and `make test-all` does not, the test is skipped, even in CI.
func Heavy(t testing.TB, format string, args ...any) {
	t.Helper()
	if testing.Short() {
		t.Skipf(format, args...)
	}
	Need(t, format, args...)
}

// Root skips the test unless root runs it. what names the action that needs root, such as
// "mounting". It skips the test even in CI, because CI also runs the tests as root.
func Root(t testing.TB, what string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skipf("%s needs root: run the tests as root", what)
	}
}

// Engine returns the address of the container engine for tests.
func Engine(t testing.TB) (host string) {
	t.Helper()
	if host = os.Getenv("HOLDFAST_TEST_DOCKER"); host == "" {
		Root(t, "starting a container engine")
		Need(t, `no container engine: eval "$(scripts/services start docker)" makes this run`)
	}
	return host
}

// User skips the test when root runs it, because file modes do not stop root. scripts/test-as-user runs every
// test that calls it as an ordinary user; it is part of `make test-all`.
func User(t testing.TB) {
	t.Helper()
	if os.Getuid() == 0 {
		t.Skip("root may read and write everything: scripts/test-as-user runs this as an ordinary user")
	}
}

// OutsideTmp returns a folder that outlives the test and is neither /tmp nor below it, since sandboxed
// commands have a /tmp of their own: /srv for root, else the home folder. It returns false if the home folder
// is below /tmp, too.
func OutsideTmp() (dir string, ok bool) {
	if os.Getuid() == 0 {
		return "/srv", true
	}
	home, err := filepath.EvalSymlinks(os.Getenv("HOME"))
	return home, err == nil && !UnderTmp(home)
}

// UnderTmp reports whether sandboxed commands see other content at path than other processes.
func UnderTmp(path string) bool {
	return strings.HasPrefix(path+"/", "/tmp/") || strings.HasPrefix(path+"/", "/var/tmp/")
}
