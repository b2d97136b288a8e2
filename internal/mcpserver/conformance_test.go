package mcpserver

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/auth"
	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// findSuite returns the folder of the conformance suites, and the node that runs them.
func findSuite(t *testing.T) (node, modules string) {
	t.Helper()
	dir := os.Getenv("HOLDFAST_TEST_MCP")
	if dir == "" {
		testneed.Need(t, `no suites for MCP: eval "$(scripts/services env mcp)" makes this run`)
	}
	return filepath.Join(dir, "bin", "node"), filepath.Join(dir, "node_modules")
}

// TestMain serves the fixture when it is asked to, in a process of its own: to what runs
// below a server, as the suites would, it gives no rights.
func TestMain(m *testing.M) {
	if os.Getenv("HOLDFAST_MCP_FIXTURE") == "" {
		os.Exit(m.Run())
	}
	if err := serveFixture(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serveFixture serves as [Server.Handler] does until its input ends, and prints where. The
// suite cannot send a token, so that it is added in front of everything; all else is
// looked at as it comes.
func serveFixture() error {
	a, err := auth.New(&auth.Options{Dir: os.Getenv("HOLDFAST_MCP_FIXTURE")})
	if err != nil {
		return err
	}
	defer a.Close()
	secret, _, err := a.CreateToken(context.Background(), auth.Caller{Name: "ann", Method: "cli"}, api.Token{Name: "suite", Scopes: []api.Scope{api.ScopeRun}})
	if err != nil {
		return err
	}
	inner := guarded(a, fixture(), slog.New(slog.DiscardHandler))
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") == "" {
			r.Header.Set("Authorization", "Bearer "+secret)
		}
		inner.ServeHTTP(w, r)
	}))
	s.Config.ConnContext = a.ConnContext
	a.Listening(s.Listener.Addr())
	s.Start()
	_, port, err := net.SplitHostPort(s.Listener.Addr().String())
	if err != nil {
		return err
	}
	fmt.Println("http://localhost:" + port + Path)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// startFixture starts the fixture and returns its URL.
func startFixture(t *testing.T) (url string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(self)
	c.Env = append(os.Environ(), "HOLDFAST_MCP_FIXTURE="+t.TempDir())
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_ = c.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal("the fixture did not start: ", err)
	}
	return strings.TrimSpace(line)
}

// notOffered are the scenarios of a suite that may fail, by how their names begin, and why.
var notOffered = map[string]string{
	"tasks-": "calls do not become tasks here: an extension, which 2026-07-28 does not require",
}

// The official conformance suites report no failure, in the protocol version with sessions and in the
// version without.
func TestConformance(t *testing.T) {
	node, modules := findSuite(t)
	for _, tt := range []struct {
		name, module string
		args         []string
		want         string // of what it says
	}{
		{"2025-11-25", "conformance-2025", []string{"--suite", "all"}, `Total: \d\d+ passed, 0 failed`},
		{"2026-07-28", "conformance-2026", []string{"--requirements", "2026-07-28"}, `Total: \d{3,} passed, (?s:.*)do not affect conformance`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{filepath.Join(modules, tt.module, "dist", "index.js"), "server", "--url", startFixture(t)}, tt.args...)
			c := exec.CommandContext(t.Context(), node, args...)
			c.Dir = t.TempDir() // it writes what it found
			out, err := c.CombinedOutput()
			for _, m := range failed.FindAllSubmatch(out, -1) {
				if name := string(m[1]); !excused(name) {
					t.Errorf("the scenario %s failed", name)
				}
			}
			if err != nil || t.Failed() || !regexp.MustCompile(tt.want).Match(out) {
				t.Errorf("%v, want %s:\n%s", err, tt.want, out[max(0, len(out)-4000):])
			}
		})
	}
}

var failed = regexp.MustCompile(`(?m)^\s*✗ (\S+?):? `)

func excused(scenario string) bool {
	for prefix := range notOffered {
		if strings.HasPrefix(scenario, prefix) {
			return true
		}
	}
	return false
}
