package early

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testprogram"
)

var largeLibraries = []string{
	"net/http", "encoding/json", "crypto/tls", "github.com/alecthomas/", "github.com/openai/", "github.com/google/",
	"github.com/holdfast-dev/holdfast/agent", "modernc.org/sqlite",
}

// The large libraries have not started when the version is printed.
func TestEarly(t *testing.T) {
	exe := testprogram.Path(t)
	for _, args := range [][]string{{"version"}, {"--version"}, {"version", "--json"}} {
		cmd := exec.Command(exe, args...)
		cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
		var trace strings.Builder
		cmd.Stderr = &trace
		out, err := cmd.Output()
		if err != nil || !strings.Contains(string(out), "go1.") {
			t.Errorf("%v: %v, %s", args, err, out)
		}
		for _, m := range regexp.MustCompile(`(?m)^init (\S+) `).FindAllStringSubmatch(trace.String(), -1) {
			if pkg := m[1]; slices.ContainsFunc(largeLibraries, func(l string) bool { return strings.HasPrefix(pkg, l) }) {
				t.Errorf("%v: %s had started", args, pkg)
			}
		}
	}
	// Everything else goes its way.
	if out, err := exec.Command(exe, "version", "--help").Output(); err != nil || !strings.Contains(string(out), "Usage") {
		t.Errorf("version --help: %v, %s", err, out)
	}
}
