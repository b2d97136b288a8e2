package acp_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/aimock"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/workspace/acp"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendortest"
)

// agent is a real agent.
type agent struct {
	home, dir string
	env       []string
	driver    acp.Driver
}

// run runs one turn.
func (a *agent) run(t *testing.T, session, text string, decide vendor.Answer) (*vendortest.RecordingSink, vendor.End, string) {
	t.Helper()
	tu := turn(text)
	tu.Session, tu.Resume, tu.Dir, tu.Home = session, session != "", a.dir, a.home
	p := vendortest.Start(t, a.dir, a.env, a.driver.Command(tu).Args...)
	defer p.End()
	n := vendortest.NewRecordingSink(t)
	n.Decide = func(context.Context, vendor.Permission) (vendor.Answer, error) { return decide, nil }
	end, err := a.driver.Run(t.Context(), tu, p, n)
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", text, err, strings.Join(n.Lines(), "\n"), p.Stderr())
	}
	id := ""
	if lines := n.Lines(); len(lines) > 0 {
		id, _ = strings.CutPrefix(lines[0], "began ")
	}
	return n, end, id
}

func claude(t *testing.T) *agent {
	t.Helper()
	script := os.Getenv("HOLDFAST_TEST_ACP")
	if script == "" {
		testneed.Heavy(t, `there is no agent that speaks ACP; to run this test: eval "$(scripts/services env acp)"`)
	}
	node, err := exec.LookPath("node")
	if err != nil {
		testneed.Need(t, `node is missing; to run this test: eval "$(scripts/services env acp)"`)
	}
	a := &agent{home: t.TempDir(), dir: t.TempDir(), driver: acp.Driver{Start: []string{node, script}}}
	if a.dir, err = filepath.EvalSymlinks(a.dir); err != nil {
		t.Fatal(err)
	}
	a.env = []string{
		"PATH=" + filepath.Dir(node) + ":/usr/bin:/bin", "HOME=" + a.home, "ANTHROPIC_API_KEY=sk-" + "made-up",
		"ANTHROPIC_BASE_URL=" + aimock.Start(t, "testdata/aimock.json"),
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
	}
	if os.Getuid() == 0 {
		a.env = append(a.env, "IS_SANDBOX=1")
	}
	return a
}

// TestClaude runs Claude Code over ACP: a session is started and resumed; a command needs approval, and a
// denied command does not run.
func TestClaude(t *testing.T) {
	a := claude(t)
	_, end, id := a.run(t, "", "first turn", vendor.Answer{})
	if end.Text != "First answer." || end.Failure != "" || id == "" {
		t.Fatalf("the first turn of %q: %+v", id, end)
	}
	n, end, again := a.run(t, id, "second turn", vendor.Answer{})
	if end.Text != "Second answer." || end.Failure != "" || again != id {
		t.Errorf("the second turn of %q: %+v\n%s", again, end, strings.Join(n.Lines(), "\n"))
	}
	_, end, _ = a.run(t, "99999999-2222-4333-8444-555555555555", "x", vendor.Answer{})
	if !end.ResumeFailed {
		t.Errorf("a missing session: %+v", end)
	}
	for _, allow := range []bool{false, true} {
		n, end, _ := a.run(t, "", "please write", vendor.Answer{Allow: allow})
		_, err := os.Stat(filepath.Join(a.dir, "made-by-claude"))
		if end.Failure != "" || (err == nil) != allow {
			t.Errorf("allowed %v: %v, %+v", allow, err, end)
		}
		lines := strings.Join(n.Lines(), "\n")
		want := `(?s)use toolu_w1 Bash \{"command":"touch made-by-claude".*permit toolu_w1.*(result|failure) toolu_w1`
		if len(n.Asked()) != 1 || !regexp.MustCompile(want).MatchString(lines) {
			t.Errorf("allowed %v: got\n%s", allow, lines)
		}
	}
}

// TestExample runs the example agent of the protocol's Go library: it reads without approval, asks for
// approval of an edit, and cannot resume a session.
func TestExample(t *testing.T) {
	program := filepath.Join(t.TempDir(), "agent")
	if out, err := exec.Command("go", "build", "-o", program, "github.com/coder/acp-go-sdk/example/agent").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	a := &agent{home: t.TempDir(), dir: t.TempDir(), env: os.Environ(), driver: acp.Driver{Start: []string{program}}}
	n, end, id := a.run(t, "", "hello", vendor.Answer{Allow: true})
	if end.Failure != "" || end.Text == "" {
		t.Errorf("ended %+v", end)
	}
	t.Log(strings.Join(n.Lines(), "\n"))
	if n, end, _ = a.run(t, "", "hello", vendor.Answer{}); end.Failure != "" {
		t.Errorf("refused: ended %+v", end)
	}
	t.Log(strings.Join(n.Lines(), "\n"))
	if _, end, _ = a.run(t, id, "hello", vendor.Answer{}); !end.ResumeFailed {
		t.Errorf("resumed: %+v", end)
	}
}
