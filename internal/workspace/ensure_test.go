package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
	"github.com/holdfast-dev/holdfast/internal/workspace/testimage"
)

// A container is created when needed, reused while it is up to date, and found by other programs.
func TestEnsure(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	home := t.TempDir()
	w := newWorkspaces(t, e, home)
	createSmall(t, w, "blog", image)
	if s, err := w.ContainerState(t.Context(), "blog"); err != nil || s.State != Absent {
		t.Errorf("%+v, %v", s, err)
	}
	c := ensure(t, w, "blog")
	if c.Outdated != "" || c.Health.Processes != 0 || !strings.HasSuffix(c.Name, "-blog") || !strings.HasPrefix(c.Name, "holdfast-") {
		t.Errorf("%+v", c)
	}
	if again := ensure(t, w, "blog"); again.ID != c.ID {
		t.Error("another container")
	}
	if other := ensure(t, newWorkspaces(t, e, home), "blog"); other.ID != c.ID {
		t.Error("another container for another program")
	}
	uid, gid := agentUser()
	if got := output(t, w, "blog", "id"); got != fmt.Sprintln(uid, gid) {
		t.Errorf("%q", got)
	}
	// What the agent stores in its home is on the host; other files may be lost.
	output(t, w, "blog", "write", "/home/agent/note", "kept")
	output(t, w, "blog", "write", "/work/file", "made")
	output(t, w, "blog", "write", "/tmp/file", "gone")
	for name, want := range map[string]string{"home/note": "kept", "project/file": "made"} {
		if b, err := os.ReadFile(filepath.Join(home, "workspaces/blog", name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if s, err := w.ContainerState(t.Context(), "blog"); err != nil || s.State != engine.Running || s.Outdated || s.ID != c.ID || s.Processes != 0 {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := w.Ensure(t.Context(), "none"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func TestPlan(t *testing.T) {
	want := map[string]string{labelID: "1", labelConfig: "a"}
	other := map[string]string{labelID: "1", labelConfig: "b"}
	for _, tt := range []struct {
		name     string
		c        *engine.Container
		do       step
		outdated bool
	}{
		{"absent", nil, stepCreate, false},
		{"running", &engine.Container{State: engine.Running, Labels: want}, stepReuse, false},
		{"running, another config", &engine.Container{State: engine.Running, Labels: other}, stepReuse, true},
		{"running, of an earlier workspace", &engine.Container{State: engine.Running, Labels: map[string]string{labelID: "0", labelConfig: "a"}}, stepReplace, false},
		{"running, without labels", &engine.Container{State: engine.Running}, stepReplace, false},
		{"paused", &engine.Container{State: engine.Paused, Labels: want}, stepUnpause, false},
		{"exited", &engine.Container{State: engine.Exited, Labels: want}, stepStart, false},
		{"exited, another config", &engine.Container{State: engine.Exited, Labels: other}, stepReplace, false},
		{"exited for memory", &engine.Container{State: engine.Exited, Labels: want, OOMKilled: true}, stepReplace, false},
		{"created", &engine.Container{State: engine.Created, Labels: want}, stepStart, false},
		{"dead", &engine.Container{State: engine.Dead, Labels: want}, stepReplace, false},
		{"removing", &engine.Container{State: engine.Removing, Labels: want}, stepReplace, false},
		{"restarting", &engine.Container{State: engine.Restarting, Labels: want}, stepReplace, false},
		{"unheard of", &engine.Container{State: "stopping", Labels: want}, stepReplace, false},
	} {
		if do, outdated := plan(tt.c, want); do != tt.do || (outdated != "") != tt.outdated {
			t.Errorf("%s: %s, %q", tt.name, do, outdated)
		}
	}
}

// Changes made to a container from outside are repaired.
func TestEnsureRepairs(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	createSmall(t, w, "blog", image)
	first := ensure(t, w, "blog")
	output(t, w, "blog", "write", "/home/agent/note", "kept")
	for _, tt := range []struct {
		name string
		do   func(ctx context.Context, c *Container) error
		same bool
	}{
		{"stop", func(ctx context.Context, _ *Container) error { return w.Stop(ctx, "blog") }, true},
		{"kill", func(ctx context.Context, c *Container) error { return e.Stop(ctx, c.ID, 0) }, true},
		{"pause", func(ctx context.Context, c *Container) error { return command("pause", c.ID) }, true},
		{"stop of a paused one", func(ctx context.Context, c *Container) error {
			return errors.Join(command("pause", c.ID), w.Stop(ctx, "blog"))
		}, true},
		{"removal", func(ctx context.Context, c *Container) error { return e.Remove(ctx, c.ID) }, false},
		{"the socket's loss", func(_ context.Context, c *Container) error {
			return errors.Join(w.Stop(t.Context(), "blog"), os.RemoveAll(filepath.Join(c.run, supervisor.SocketName)))
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := ensure(t, w, "blog")
			if err := tt.do(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			again := ensure(t, w, "blog")
			if (again.ID == c.ID) != tt.same {
				t.Errorf("the same: %v, want %v", again.ID == c.ID, tt.same)
			}
			if got := output(t, w, "blog", "read", "/home/agent/note"); got != "kept" {
				t.Errorf("%q", got)
			}
		})
	}
	_ = first
}

// command runs the engine's own command-line program, for operations that this package never performs.
func command(args ...string) error {
	out, err := exec.Command("docker", append([]string{"-H", os.Getenv("HOLDFAST_TEST_DOCKER")}, args...)...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// tryConfigChange: changed settings apply only when no one uses the container.
func tryConfigChange(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	first, err := e.Image(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.RemoveImage(context.WithoutCancel(t.Context()), first.ID) }) // it loses its name
	w := newWorkspaces(t, e, t.TempDir())
	createSmall(t, w, "blog", image)
	c := ensure(t, w, "blog")
	working := begin(t, c, "wait")
	more := func(n Bytes) {
		t.Helper()
		if _, err := w.Set(t.Context(), "blog", func(s *Settings) error { s.Limits.Memory = n; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	same := func(want bool, when string) *Container {
		t.Helper()
		again := ensure(t, w, "blog")
		if (again.ID == c.ID) != want || (again.Outdated != "") != want {
			t.Errorf("%s: the same: %v (%q), want %v", when, again.ID == c.ID, again.Outdated, want)
		}
		return again
	}
	more(300 << 20)
	_ = same(true, "it is in use").Close()
	if s, err := w.ContainerState(t.Context(), "blog"); err != nil || !s.Outdated || s.Processes != 1 {
		t.Errorf("%+v, %v", s, err)
	}
	_ = c.Close()
	_ = same(true, "a process runs without a holder of the container").Close()
	working.finish(t)
	c = same(false, "it is not in use")
	more(320 << 20)
	_ = same(true, "it has a holder").Close()
	_ = c.Close()
	c = same(false, "it has no holder")
	_ = c.Close()
	// The same name may refer to another image.
	if err := command("tag", testImage(t, e, "2"), image); err != nil {
		t.Fatal(err)
	}
	same(false, "another image")
}

// Of many concurrent callers, in one process and in several, exactly one creates the container.
func TestEnsureConcurrent(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	home := t.TempDir()
	w := newWorkspaces(t, e, home)
	createSmall(t, w, "blog", image)
	var mu sync.Mutex
	ids := map[string]int{}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			run := exec.Command(os.Args[0], "-test.run=^TestEnsureElsewhere$")
			run.Env = append(os.Environ(), "HOLDFAST_TEST_ENSURE="+home)
			out, err := run.CombinedOutput()
			if err != nil {
				t.Errorf("%v: %s", err, out)
			}
			_, id, _ := strings.Cut(string(out), "container ")
			id, _, _ = strings.Cut(id, "\n")
			mu.Lock()
			defer mu.Unlock()
			ids[id]++
		})
		wg.Go(func() {
			c, err := w.Ensure(t.Context(), "blog")
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			mu.Lock()
			defer mu.Unlock()
			ids[c.ID]++
		})
	}
	wg.Wait()
	if len(ids) != 1 {
		t.Errorf("%v", ids)
	}
	if list, err := e.List(t.Context(), map[string]string{labelHome: w.homeHash()}); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

// TestEnsureElsewhere is the part of TestEnsureConcurrent that runs in other processes.
func TestEnsureElsewhere(t *testing.T) {
	home := os.Getenv("HOLDFAST_TEST_ENSURE")
	if home == "" {
		return
	}
	e, err := engine.Connect(t.Context(), os.Getenv("HOLDFAST_TEST_DOCKER"))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w, err := New(home, &Options{Engine: e})
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.Ensure(t.Context(), "blog")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Printf("\ncontainer %s\n", c.ID)
	_ = c.Close()
}

// tryEnsureFails: an error says why a container cannot start, and nothing is left.
func tryEnsureFails(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	empty := fmt.Sprintf("holdfast-test/empty:%d", time.Now().UnixNano())
	if _, err := e.Import(t.Context(), bytes.NewReader(make([]byte, 1024)), empty, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.RemoveImage(context.WithoutCancel(t.Context()), empty) })
	outside := t.TempDir()
	for _, tt := range []struct {
		slug    string
		change  func(*Settings)
		spoil   func(dir string) error
		want    error
		text    string
		advises string
	}{
		{"noprogram", func(s *Settings) { s.Image = empty }, nil, ErrNoAnswer, Program, "holdfast workspace image build"},
		{"noimage", func(s *Settings) { s.Image = "holdfast-test/none:1" }, nil, ErrNoImage, "", "holdfast workspace image build"},
		{"nohome", nil, func(dir string) error { return os.Remove(filepath.Join(dir, "home")) }, ErrDamaged, "home", "delete nohome"},
		{"linkhome", nil, func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "home")), os.Symlink("/etc", filepath.Join(dir, "home")))
		}, ErrDamaged, "a link", "delete linkhome"},
		{"linkrun", nil, func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "run")), os.Symlink("/", filepath.Join(dir, "run")))
		}, ErrDamaged, "a link", "delete linkrun"},
		{"linkproject", func(s *Settings) { s.Project = outside }, func(string) error {
			return errors.Join(os.Remove(outside), os.Symlink("/", outside))
		}, ErrInvalid, "leads to /", "use the path"},
		{"fifouse", nil, func(dir string) error { return runCommand("mkfifo", filepath.Join(dir, "use")) }, ErrNotRegular, "FIFO", ""},
	} {
		t.Run(tt.slug, func(t *testing.T) {
			s := Settings{Slug: tt.slug, Image: image, Limits: Limits{Memory: 128 << 20}}
			if tt.change != nil {
				tt.change(&s)
			}
			if s.Project != "" {
				uid, gid := agentUser()
				_ = os.Chown(s.Project, uid, gid)
			}
			if _, err := w.Create(t.Context(), s); err != nil {
				t.Fatal(err)
			}
			if tt.spoil != nil {
				if err := tt.spoil(filepath.Join(w.folder(), tt.slug)); err != nil {
					t.Fatal(err)
				}
			}
			_, err := w.Ensure(t.Context(), tt.slug)
			if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) || !strings.Contains(hint(err), tt.advises) {
				t.Errorf("%v (hint: %s); want %v with %q and %q", err, hint(err), tt.want, tt.text, tt.advises)
			}
			if _, err := e.Inspect(t.Context(), w.containerName(tt.slug)); !errors.Is(err, engine.ErrNotFound) {
				t.Errorf("something is left: %v", err)
			}
		})
	}
}

func runCommand(args ...string) error { return exec.Command(args[0], args[1:]...).Run() }

// A container with a workspace's name but without its labels is not changed.
func TestForeign(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	createSmall(t, w, "blog", image)
	img, err := e.Image(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	for _, labels := range []map[string]string{nil, {labelHome: "another", labelWorkspace: "blog"}, {labelHome: w.homeHash(), labelWorkspace: "other"}} {
		id, err := e.Create(t.Context(), engine.Spec{Name: w.containerName("blog"), Image: img.ID, Labels: labels, Command: []string{Program, "wait"}, User: "4711:4711"})
		if err != nil {
			t.Fatal(err)
		}
		for op, do := range map[string]func() error{
			"ensure": func() error { _, err := w.Ensure(t.Context(), "blog"); return err },
			"stop":   func() error { return w.Stop(t.Context(), "blog") },
			"remove": func() error { return w.removeContainer(t.Context(), "blog") },
			"state":  func() error { _, err := w.ContainerState(t.Context(), "blog"); return err },
		} {
			if err := do(); !errors.Is(err, ErrForeign) || !strings.Contains(hint(err), "docker inspect") {
				t.Errorf("%s: %v", op, err)
			}
		}
		if c, err := e.Inspect(t.Context(), id); err != nil || c.State != engine.Created {
			t.Errorf("%+v, %v", c, err)
		}
		if err := e.Remove(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
}

// tryNoEngine: without an engine nothing runs, in particular not on the host.
func tryNoEngine(t *testing.T) {
	w, err := New(t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("DOCKER_HOST", "unix://"+filepath.Join(t.TempDir(), "none"))
	s := createSmall(t, w, "blog", "")
	for op, do := range map[string]func() error{
		"ensure":    func() error { _, err := w.Ensure(t.Context(), "blog"); return err },
		"ephemeral": func() error { _, err := w.EnsureEphemeral(t.Context(), "blog"); return err },
		"exec": func() error {
			_, err := w.Exec(t.Context(), "blog", ExecOptions{Args: []string{"touch", filepath.Join(w.dirs(s).Project, "ran")}})
			return err
		},
		"stop":      func() error { return w.Stop(t.Context(), "blog") },
		"reconcile": func() error { _, err := w.Reconcile(t.Context()); return err },
	} {
		if err := do(); !errors.Is(err, ErrNoEngine) || hint(err) == "" {
			t.Errorf("%s: %v (hint: %s)", op, err, hint(err))
		}
	}
	if left, err := os.ReadDir(w.dirs(s).Project); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	if _, err := w.Delete(t.Context(), "blog", nil); err != nil {
		t.Errorf("a workspace that never had a container: %v", err)
	}
}
