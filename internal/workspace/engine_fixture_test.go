package workspace

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// insideProgram builds the program of the test containers once.
var insideProgram = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "holdfast-inside-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	out := filepath.Join(dir, "inside")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, "./testdata/inside")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, text)
	}
	return os.ReadFile(out)
})

// testImage builds an image that contains only the program. added makes it a different image of the same
// program.
func testImage(t testing.TB, e *engine.Engine, added string, changes ...string) (ref string) {
	t.Helper()
	program, err := insideProgram()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, body := range map[string][]byte{"usr/local/bin/holdfast": program, "added": []byte(added)} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(body)), Typeflag: tar.TypeReg}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	ref = fmt.Sprintf("holdfast-test/inside:%d", time.Now().UnixNano())
	if _, err := e.Import(t.Context(), &b, ref, append(changes, "ENV PATH=/usr/local/bin")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.RemoveImage(context.WithoutCancel(t.Context()), ref); err != nil && !errors.Is(err, engine.ErrNoImage) {
			t.Error(err)
		}
	})
	return ref
}

// newWorkspaces returns the workspaces of a new home with the test engine. Their containers are removed when the test
// ends.
func newWorkspaces(t testing.TB, e *engine.Engine, home string) *Workspaces {
	t.Helper()
	w, err := New(home, &Options{Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sweepContainers(t, w, e) })
	return w
}

func sweepContainers(t testing.TB, w *Workspaces, e *engine.Engine) {
	ctx := context.WithoutCancel(t.Context())
	list, err := e.List(ctx, map[string]string{labelHome: w.homeHash()})
	if err != nil {
		t.Error(err)
	}
	for _, c := range list {
		if err := e.Remove(ctx, c.ID); err != nil {
			t.Error(err)
		}
	}
}

// createSmall creates a workspace with small limits.
func createSmall(t testing.TB, w *Workspaces, slug, image string) *Settings {
	t.Helper()
	s, err := w.Create(t.Context(), Settings{Slug: slug, Image: image, Limits: Limits{Memory: 256 << 20, PIDs: 256}})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func ensure(t testing.TB, w *Workspaces, slug string) *Container {
	t.Helper()
	c, err := w.Ensure(t.Context(), slug)
	if err != nil {
		t.Fatalf("%v (hint: %s)", err, hint(err))
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func hint(err error) string {
	if f, ok := errors.AsType[interface {
		error
		Hint() string
	}](err); ok {
		return f.Hint()
	}
	return ""
}

// containerProcess is a process in a container that runs until its connection is closed.
type containerProcess struct {
	p   *supervisor.Process
	out *bufio.Reader
}

// begin starts a verb of the program in a container and waits for its first line.
func begin(t testing.TB, c *Container, args ...string) *containerProcess {
	t.Helper()
	conn, err := c.Dial(t.Context())
	for end := time.Now().Add(time.Minute); errors.Is(err, supervisor.ErrLost) && time.Now().Before(end); {
		time.Sleep(50 * time.Millisecond) // the container has just been started and does not listen yet
		conn, err = c.Dial(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	p, err := conn.Start(t.Context(), supervisor.Spec{ID: "test-" + newID(), Args: append([]string{"holdfast"}, args...), Dir: "/"})
	if err != nil {
		t.Fatal(err)
	}
	r := &containerProcess{p: p, out: bufio.NewReader(p.Stdout())}
	if line, err := r.out.ReadString('\n'); err != nil {
		t.Fatalf("%q, %v: %s", line, err, p.Stderr())
	}
	return r
}

// finish closes its input and waits for its end.
func (r *containerProcess) finish(t testing.TB) supervisor.Exit {
	t.Helper()
	_ = r.p.Stdin().Close()
	exit, err := r.p.Wait(t.Context())
	if err != nil {
		t.Error(err)
	}
	return exit
}

// output runs a verb of the program and returns its output.
func output(t testing.TB, w *Workspaces, slug string, args ...string) string {
	t.Helper()
	var out, failed bytes.Buffer
	exit, err := w.Exec(t.Context(), slug, ExecOptions{Args: append([]string{"holdfast"}, args...), Stdout: &out, Stderr: &failed})
	if err != nil || exit.Code != 0 {
		t.Fatalf("%q: %v, %+v: %s", args, err, exit, failed.String())
	}
	return out.String()
}
