// Package missing ends a test that lacks something it needs: by a skip on
// somebody's machine, by a failure in CI, where everything is installed first
// and a skip would hide that it was not.
//
//	test ──► program, server or right is not there ──► missing.Skip ──► CI=true? fail : skip
//
//	if _, err := exec.LookPath("rg"); err != nil {
//		missing.Skip(t, "no rg on the PATH: apt-get install ripgrep makes this run")
//	}
//
// The package is for tests only.
package missing

import (
	"os"
	"testing"
)

// Skip ends the test with the reason, which names the command that makes it run.
func Skip(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf(format, args...)
	}
	t.Skipf(format, args...)
}

// Heavy is [Skip] for what takes minutes to get or to run: it is wanted, also in CI,
// only where HOLDFAST_HEAVY says so.
func Heavy(t testing.TB, format string, args ...any) {
	t.Helper()
	if os.Getenv("HOLDFAST_HEAVY") == "" {
		t.Skipf(format, args...)
	}
	Skip(t, format, args...)
}
