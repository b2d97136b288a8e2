//go:build unix

package workspace

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
	"github.com/holdfast-dev/holdfast/internal/workspace/testimage"
)

// Changes of an agent to its folders do not prevent the next start, and links that it put there are not
// followed.
func TestRepairFolders(t *testing.T) {
	d := newDiskEnv(t)
	to := outsideFolder(t)
	s := d.make(Settings{Slug: "a"})
	run := d.dirs(s).Run
	okay(t, os.MkdirAll(filepath.Join(run, "supervisor.sock", "sub"), 0o755))
	okay(t, os.Symlink(to, filepath.Join(run, "egress.sock")))
	okay(t, os.WriteFile(filepath.Join(run, "file"), nil, 0o600))
	addr, err := net.ResolveUnixAddr("unix", filepath.Join(run, "s"))
	okay(t, err)
	l, err := net.ListenUnix("unix", addr)
	okay(t, err)
	defer l.Close()
	okay(t, os.Chmod(filepath.Join(run, "s"), 0))
	for _, dir := range []string{run, d.dirs(s).Home, d.dirs(s).Project} {
		okay(t, os.Chmod(dir, 0))
	}
	h, err := d.lock(t.Context(), "test", "a")
	okay(t, err)
	defer h.Release()
	okay(t, repairFolders(t.Context(), h.dir))
	left, err := os.ReadDir(run)
	if err != nil || len(left) != 1 || left[0].Name() != "s" {
		t.Errorf("%v, %v", left, err)
	}
	for path, want := range map[string]os.FileMode{filepath.Join(run, "s"): 0o600, run: 0o700, d.dirs(s).Home: 0o700, d.dirs(s).Project: 0o700} {
		if info, err := os.Lstat(path); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", path, info, err)
		}
	}
	// A link in place of a folder is left for the check that reports a damaged workspace.
	okay(t, os.Remove(d.dirs(s).Home))
	okay(t, os.Symlink(to, d.dirs(s).Home))
	okay(t, repairFolders(t.Context(), h.dir))
}

// A container starts again whatever an agent did to the folders it shares with the host.
func TestContainerAfterSabotage(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	s := createSmall(t, w, "blog", image)
	c := ensure(t, w, "blog")
	_ = c.Close()
	run := w.dirs(s).Run
	for name, sabotage := range map[string]func() error{
		"closed while it runs": func() error { return os.Chmod(run, 0) },
		"closed": func() error {
			return errors.Join(w.Stop(t.Context(), "blog"), os.Chmod(run, 0), os.Chmod(w.dirs(s).Home, 0))
		},
		"a folder as socket": func() error {
			return errors.Join(w.Stop(t.Context(), "blog"), os.Remove(filepath.Join(run, "supervisor.sock")), os.MkdirAll(filepath.Join(run, "supervisor.sock", "x"), 0o755))
		},
	} {
		okay(t, sabotage())
		if out := output(t, w, "blog", "say", "hello"); out != "hello\n" {
			t.Errorf("%s: %q", name, out)
		}
	}
}

// Run settings of an image are ignored: no volume on the unlimited disk, no variable for the agents, no other
// user or program.
func TestImageSettingsIgnored(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1", `ENTRYPOINT ["/added"]`, `CMD ["nothing"]`, "USER 0:0", "VOLUME /data /home/agent",
		"ENV LD_PRELOAD=/added", "ENV HTTP_PROXY=http://evil.test", `HEALTHCHECK CMD ["/added"]`, "WORKDIR /nowhere")
	w := newWorkspaces(t, e, t.TempDir())
	createSmall(t, w, "blog", image)
	c := ensure(t, w, "blog")
	raw, err := e.InspectRaw(t.Context(), c.ID)
	okay(t, err)
	if bytes.Contains(raw, []byte(`"Type":"volume"`)) && !bytes.Contains(raw, []byte(`"/data":"rw,exec`)) {
		t.Errorf("a volume: %s", raw)
	}
	for _, want := range []string{`"StopSignal":"SIGTERM"`, `"Test":["NONE"]`} {
		if !bytes.Contains(raw, []byte(want)) {
			t.Errorf("no %s in %s", want, raw)
		}
	}
	mounts := output(t, w, "blog", "read", "/proc/mounts")
	if !strings.Contains(mounts, "tmpfs /data ") {
		t.Errorf("/data is on the disk: %s", mounts)
	}
	if env := output(t, w, "blog", "env"); strings.Contains(env, "LD_PRELOAD") || strings.Contains(env, "PROXY") {
		t.Error(env)
	}
	if id := output(t, w, "blog", "id"); strings.HasPrefix(id, "0") {
		t.Error(id)
	}
}

// The container's log is shortened to one line.
func TestContainerLogLine(t *testing.T) {
	if got := logEnd("one\n  two\r\n"); got != "one two" {
		t.Errorf("%q", got)
	}
	if got := logEnd(strings.Repeat("ü", 1<<20)); len(got) > 520 || !strings.HasPrefix(got, "…ü") {
		t.Errorf("%d bytes", len(got))
	}
}

// Errors of an engine have the exit codes and HTTP statuses of the common table.
func TestOutcomesOfEngine(t *testing.T) {
	for err, want := range map[error]outcome.Outcome{
		engine.ErrNoEngine: outcome.NoEngine, engine.ErrTimeout: outcome.NoEngine, engine.ErrNoImage: outcome.NoEngine,
		engine.ErrConflict: outcome.Conflict, engine.ErrRefused: outcome.Failed,
	} {
		inner := &engine.Error{Op: "start container", Err: err, Advice: "wait"}
		for _, e := range []error{engineError(inner), (&Container{Slug: "a"}).fail(inner)} {
			if got := outcome.FromError(e); got != want || outcome.Hint(e) != "wait" {
				t.Errorf("%v: %+v, %q", e, got, outcome.Hint(e))
			}
		}
	}
}
