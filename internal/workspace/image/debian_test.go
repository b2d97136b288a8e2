package image

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// With a base image from the engine, builds have the same layers each time, only the program's layer changes
// with the program, and the settings of the base are overridden.
func TestDebian(t *testing.T) {
	e := testEngine(t)
	s := specOf(t, e, Debian)
	s.Base, s.Agents, s.Packages = tiny(t, e), []string{"claude@9.9.9", "codex@9.9.9"}, t.TempDir()
	writePackages(t, s.Packages, runtime.GOARCH)
	var h progressLog
	id, err := Build(t.Context(), e, s, h.report)
	if err != nil {
		t.Fatal(err)
	}
	base, err := e.Image(t.Context(), s.Base)
	if err != nil {
		t.Fatal(err)
	}
	img, err := Find(t.Context(), e, id)
	if err != nil || img.Variant != Debian || img.Base != base.ID || !slices.Equal(img.Agents, []string{"claude@9.9.9", "codex@9.9.9"}) {
		t.Fatalf("%+v, %v", img, err)
	}
	var got struct{ Config runConfig }
	ask(t, "/images/"+id+"/json", &got)
	if c := got.Config; c.User != "4711:4711" || c.WorkingDir != Work || !slices.Contains(c.Env, "FROM=base") || !slices.Contains(c.Env, "DISABLE_AUTOUPDATER=1") {
		t.Errorf("%+v", c)
	}
	h = progressLog{}
	if again, err := Build(t.Context(), e, s, h.report); err != nil || again != id || h.has(Send) {
		t.Errorf("%s, %v", again, err)
	}
	was := layers(t, id)
	s.NoCache = true
	if id, err = Build(t.Context(), e, s, nil); err != nil {
		t.Fatal(err)
	}
	if is := layers(t, id); !slices.Equal(is, was) {
		t.Errorf("%q, and then %q", was, is)
	}
	s.NoCache = false
	s.Binary = modifiedCopy(t, s.Binary)
	if id, err = Build(t.Context(), e, s, nil); err != nil {
		t.Fatal(err)
	}
	if is := layers(t, id); len(is) != 3 || !slices.Equal(is[:2], was[:2]) || is[2] == was[2] {
		t.Errorf("%q, and then %q", was, is)
	}
	if list, err := e.Images(t.Context(), map[string]string{labelImage: s.Tag}); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	out := start(t, e, engine.Spec{Image: id, Command: []string{Program}, User: "4711:4711", Dir: Work})
	if !strings.HasPrefix(out, "4711 4711 /work /home/agent true\n/ drwxr-xr-x false\n/home/agent drwx------ false\n") {
		t.Errorf("%s", out)
	}
}

// modifiedCopy returns a copy of a program with one more byte.
func modifiedCopy(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	name := t.TempDir() + "/holdfast"
	if err := os.WriteFile(name, append(b, 0), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestDebianRefused(t *testing.T) {
	e := testEngine(t)
	s := specOf(t, e, Debian)
	s.Base = "holdfast-test/none:1"
	_, err := Build(t.Context(), e, s, nil)
	if f, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrNoImage) || f.Hint() != "docker pull holdfast-test/none:1" {
		t.Errorf("%v", err)
	}
	s.Base, s.Agents = "", []string{"gemini"}
	if _, err := Build(t.Context(), e, s, nil); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v", err)
	}
	checkLeftovers(t, s.Folder)
}

// If a file cannot be read while it is sent, that is the error, not the engine's consequence of it.
func TestSendFails(t *testing.T) {
	e := testEngine(t)
	b := &build{engine: e, spec: Spec{Tag: unique(t)}, progress: func(Progress) {}}
	bad := layer{file{name: "a", typ: tar.TypeReg, size: 1, open: func() (io.ReadCloser, error) { return nil, os.ErrPermission }}}
	if err := b.load(t.Context(), bad, config{OS: "linux"}, b.spec.tags()); !errors.Is(err, os.ErrPermission) {
		t.Error(err)
	}
	if _, err := e.Image(t.Context(), b.spec.Tag); !errors.Is(err, ErrNoImage) {
		t.Error(err)
	}
}
