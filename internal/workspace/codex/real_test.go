package codex_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/aimock"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/workspace/codex"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendor"
	"github.com/holdfast-dev/holdfast/internal/workspace/vendortest"
)

// codexEnv runs the real Codex against a test model server.
type codexEnv struct {
	program   string
	home, dir string
	env       []string
}

const madeUpKey = "sk-" + "made-up-for-a-test"

func newCodexEnv(t *testing.T) *codexEnv {
	t.Helper()
	r := &codexEnv{program: unpack(t), home: t.TempDir(), dir: t.TempDir()}
	url := aimock.Start(t, "testdata/aimock.json")
	r.env = []string{"PATH=/usr/bin:/bin", "HOME=" + r.home, "OPENAI_API_KEY=" + madeUpKey, "OPENAI_BASE_URL=" + url + "/v1"}
	if err := os.Mkdir(filepath.Join(r.home, ".codex"), 0o700); err != nil {
		t.Fatal(err)
	}
	return r
}

// unpack unpacks the program from the package as npm publishes it.
func unpack(t *testing.T) string {
	t.Helper()
	dir := os.Getenv("HOLDFAST_TEST_VENDORS")
	if dir == "" {
		testneed.Heavy(t, `Codex is missing; to run this test: eval "$(scripts/services env vendors)"`)
	}
	found, err := filepath.Glob(filepath.Join(dir, "codex-*.tgz"))
	if err != nil || len(found) == 0 {
		t.Fatalf("no package of Codex in %s: %v", dir, err)
	}
	f, err := os.Open(found[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		h, err := r.Next()
		if err != nil {
			t.Fatalf("%s has no program: %v", found[0], err)
		}
		if !strings.HasSuffix(h.Name, "/bin/codex") {
			continue
		}
		at := filepath.Join(t.TempDir(), "codex")
		to, err := os.OpenFile(at, os.O_CREATE|os.O_WRONLY, 0o700)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(to, r); errors.Join(err, to.Close()) != nil {
			t.Fatal(err)
		}
		return at
	}
}

// run runs one turn.
func (r *codexEnv) run(t *testing.T, session, text string, decide vendor.Answer) (*vendortest.RecordingSink, vendor.End, string) {
	t.Helper()
	tu := turn(text)
	tu.Session, tu.Resume, tu.Dir, tu.Home, tu.Env = session, session != "", r.dir, r.home, r.env
	tu.Model = "gpt-5"
	d := codex.Driver{Start: []string{r.program}}
	c := d.Command(tu)
	p := vendortest.Start(t, r.dir, slices.Concat(c.Env, tu.Env), c.Args...)
	defer p.End()
	n := vendortest.NewRecordingSink(t)
	n.Decide = func(context.Context, vendor.Permission) (vendor.Answer, error) { return decide, nil }
	end, err := d.Run(t.Context(), tu, p, n)
	if err != nil {
		t.Fatalf("%s: %v\n%s\n%s", text, err, strings.Join(n.Lines(), "\n"), p.Stderr())
	}
	id := ""
	if lines := n.Lines(); len(lines) > 0 {
		id, _ = strings.CutPrefix(lines[0], "began ")
	}
	return n, end, id
}

func TestReal(t *testing.T) {
	r := newCodexEnv(t)
	t.Run("resumes", r.checkResume)
	t.Run("asks", r.checkApprovals)
}

// checkResume starts and resumes a session. Its file has the expected path, and no file contains the key.
func (r *codexEnv) checkResume(t *testing.T) {
	_, end, id := r.run(t, "", "first turn", vendor.Answer{})
	if end.Text != "First answer." || end.Failure != "" || end.Usage.Input != 100 {
		t.Errorf("the first turn: %+v", end)
	}
	pattern := codex.Driver{}.Transcript(id, r.dir)
	if found, err := filepath.Glob(filepath.Join(r.home, pattern)); err != nil || len(found) != 1 {
		t.Errorf("%s is at %q, %v", pattern, found, err)
	}
	_, end, again := r.run(t, id, "second turn", vendor.Answer{})
	if end.Text != "Second answer." || end.Failure != "" || again != id || end.Usage.Input != 130 {
		t.Errorf("the second turn, of %s: %+v", again, end)
	}
	_, end, _ = r.run(t, "99999999-2222-7333-8444-555555555555", "x", vendor.Answer{})
	if !end.ResumeFailed {
		t.Errorf("a missing session: %+v", end)
	}
	env := r.env
	r.env = slices.Clone(env[:len(env)-1]) // without the URL of the model server
	if _, end, _ = r.run(t, id, "x", vendor.Answer{}); !end.ResumeFailed {
		t.Errorf("a session of a model server that is not named any more: %+v", end)
	}
	r.env = env
	if err := filepath.WalkDir(r.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		b, err := os.ReadFile(path)
		if bytes.Contains(b, []byte(madeUpKey)) {
			t.Errorf("the key is in %s", path)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// checkApprovals checks that commands and file changes need approval, and that denied ones do not happen.
func (r *codexEnv) checkApprovals(t *testing.T) {
	made := func(name string) bool {
		_, err := os.Stat(filepath.Join(r.dir, name))
		return err == nil
	}
	for _, c := range []struct {
		text, use, file string
		allow           bool
	}{
		{"shell please", "call_sh1", "made-by-codex", false},
		{"shell please", "call_sh1", "made-by-codex", true},
		{"patch please", "call_patch1", "new.txt", false},
		{"patch please", "call_patch1", "new.txt", true},
	} {
		n, end, _ := r.run(t, "", c.text, vendor.Answer{Allow: c.allow})
		if end.Failure != "" || made(c.file) != c.allow {
			t.Errorf("%s, allowed %v: made %v, %+v", c.text, c.allow, made(c.file), end)
		}
		asked := n.Asked()
		if len(asked) != 1 || asked[0].Use != c.use {
			t.Errorf("%s: asked %+v", c.text, asked)
		}
		if lines := strings.Join(n.Lines(), "\n"); !regexp.MustCompile(`(?s)use ` + c.use + `.*permit ` + c.use + `.*(result|failure) ` + c.use).MatchString(lines) {
			t.Errorf("%s: got\n%s", c.text, lines)
		}
	}
}
