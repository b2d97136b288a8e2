//go:build linux

package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/sandbox"
	"github.com/holdfast-dev/holdfast/tool"
)

// shellServer is a server in a few lines of shell. Its tool writes where it may and
// where it may not, and reads a secret.
const shellServer = `
while read -r line; do
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in
  *server/discover*) r='"error":{"code":-32601,"message":"no"}' ;;
  *\"initialize\"*) r='"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"sh","version":"1"}}' ;;
  *tools/list*) r='"result":{"tools":[{"name":"try","inputSchema":{"type":"object"}}]}' ;;
  *tools/call*)
    in=no; out=no; read=no
    (echo x > inside) 2>/dev/null && in=yes
    (echo x > "$OUTSIDE/outside") 2>/dev/null && out=yes
    cat "$OUTSIDE/secret" >/dev/null 2>&1 && read=yes
    r='"result":{"content":[{"type":"text","text":"inside '$in', outside '$out', read '$read', sandbox '$HOLDFAST_SANDBOX', key '$API_KEY'"}]}' ;;
  *) continue ;;
  esac
  printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$r"
done`

// A stdio server is held to what commands are held to.
func TestStdioServerInTheSandbox(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("s"), 0o600); err != nil {
		t.Fatal(err)
	}
	checker, err := sandbox.NewChecker(&sandbox.Settings{}, &sandbox.Options{Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	box, err := sandbox.Open([]*sandbox.Checker{checker}, &sandbox.OpenOptions{Folders: []string{dir}})
	if err != nil {
		testneed.Need(t, "the kernel sandbox cannot be opened here, holdfast doctor says why: %v", err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	c, n := open(t, &Options{Sandbox: box, Dir: dir, Environ: []string{"PATH=/usr/bin:/bin", "API_KEY=" + "k"}},
		Server{Name: "sh", Command: "bash", Args: []string{"-c", shellServer}, Env: map[string]string{"OUTSIDE": outside}},
		Server{Name: "bad", Command: "bash", Args: []string{"-c", "echo gone >&2; cat " + outside + "/secret; exit 4"}},
		Server{Name: "mute", Command: "bash", Args: []string{"-c", "while read -r line; do :; done"}, StartTimeout: 200 * time.Millisecond})
	try := lookup(t, c, "mcp__sh__try")
	if reqs, err := try.Requests(&tool.Call{}); err != nil || len(reqs) != 1 || !reqs[0].Confined {
		t.Errorf("what is asked does not say that the sandbox holds it: %+v, %v", reqs, err)
	}
	if got, want := text(call(t, try, "{}")), "inside yes, outside no, read no, sandbox 1, key "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if st := statusOf(t, c, "bad"); !strings.Contains(st.Error, "gone") || !strings.Contains(st.Error, "4") {
		t.Errorf("status %+v; told %s", st, n)
	}
	if st := statusOf(t, c, "mute"); !strings.Contains(st.Error, "no answer within 200ms") || !strings.Contains(st.Hint, "sandbox.network.allowedDomains") {
		t.Errorf("status %+v", st)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
