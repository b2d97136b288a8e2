// Package aimock starts the model server aimock for tests. The server speaks the providers' protocols and answers
// from fixtures, with faults on request.
//
//	fixtures.json ──► node aimock ──► http://127.0.0.1:PORT ◄── adapters, programs
//
//	url := aimock.Start(t, "testdata/aimock.json")
//
// The package is for tests only.
package aimock

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// Variable names aimock's command line script, which scripts/services installs.
const Variable = "HOLDFAST_AIMOCK"

var listening = lazyregexp.Must(`http://127[.0-9]+:[0-9]+`)

// Start runs a separate server for the test, with the answers of a fixture file, and returns its address. Further
// arguments go to aimock's command line. Where aimock is not installed the test is skipped; in CI it fails.
func Start(t testing.TB, fixtures string, args ...string) string {
	t.Helper()
	script := os.Getenv(Variable)
	if script == "" {
		testneed.Need(t, `aimock is not installed; to run this test: eval "$(scripts/services env aimock)"`)
	}
	cmd := exec.Command("node", append([]string{script, "-h", "127.0.0.1", "-p", "0", "-f", fixtures}, args...)...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	var said strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		if url := listening().FindString(lines.Text()); url != "" {
			// Read all further output, so that the server does not block. The goroutine ends with the server.
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return url
		}
	}
	t.Fatalf("aimock did not start: %s", said.String())
	return ""
}
