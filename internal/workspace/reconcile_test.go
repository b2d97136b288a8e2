package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
	"github.com/holdfast-dev/holdfast/internal/workspace/testimage"
)

// createDirectly creates a container directly with the engine.
func createDirectly(t *testing.T, e *engine.Engine, image, name string, labels map[string]string, start bool, mounted ...string) string {
	t.Helper()
	img, err := e.Image(t.Context(), image)
	if err != nil {
		t.Fatal(err)
	}
	var mounts []engine.Mount
	for _, m := range mounted {
		mounts = append(mounts, engine.Mount{Source: m, Target: "/mnt"})
	}
	id, err := e.Create(t.Context(), engine.Spec{
		Mounts: mounts, Name: name, Image: img.ID, Labels: labels, Command: []string{Program, "supervise"}, User: "4711:4711",
		Tmpfs: []engine.Tmpfs{{Target: "/run/holdfast", Size: 1 << 20, Mode: 0o700, UID: 4711, GID: 4711}},
	})
	if err == nil && start {
		err = e.Start(t.Context(), id)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Remove(context.WithoutCancel(t.Context()), id) })
	return id
}

// tryReconcile: containers without a workspace are removed unless they are in use; foreign containers are not
// touched.
func tryReconcile(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	createSmall(t, w, "known", image)
	known := ensure(t, w, "known")
	other := newWorkspaces(t, e, t.TempDir())
	createSmall(t, other, "known", image)
	elsewhere := ensure(t, other, "known")

	labels := func(slug string) map[string]string {
		return map[string]string{labelHome: w.homeHash(), labelWorkspace: slug, labelID: "0123456789abcdef"}
	}
	createDirectly(t, e, image, w.containerName("orphan"), labels("orphan"), false)
	createDirectly(t, e, image, w.containerName("idle"), labels("idle"), true)
	createDirectly(t, e, image, w.containerName("known")+"-legacy", labels("known"), true, w.dirs(&known.Settings).Run)
	createDirectly(t, e, image, w.containerName("bad")+"-slug", labels("../known"), false, w.dirs(&known.Settings).Run)
	labelled := labels("known")
	labelled[labelEphemeral] = "0123456789abcdef"
	copied := createDirectly(t, e, image, w.containerName("known")+"-copy", labelled, true) // docker commit, docker run
	foreign := createDirectly(t, e, image, w.containerName("foreign"), nil, true)
	busy := createDirectly(t, e, image, w.containerName("busy"), labels("busy"), true)
	inBusy := begin(t, &Container{ID: busy, w: bridgedOnly(w), engine: e}, "wait")

	got, err := w.Reconcile(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range got.Problems {
		t.Error(err)
	}
	slices.Sort(got.Removed)
	want := []string{w.containerName("bad") + "-slug", w.containerName("idle"), w.containerName("known") + "-legacy", w.containerName("orphan")}
	slices.Sort(want)
	if !slices.Equal(got.Removed, want) || !slices.Equal(got.Kept, []string{known.Name}) || !slices.Equal(got.Busy, []string{w.containerName("busy")}) {
		t.Errorf("%+v", got)
	}
	for name, id := range map[string]string{"known": known.ID, "elsewhere": elsewhere.ID, "foreign": foreign, "busy": busy, "copied": copied} {
		if c, err := e.Inspect(t.Context(), id); err != nil || c.State != engine.Running {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	inBusy.finish(t)
	got, err = w.Reconcile(t.Context())
	if err != nil || !slices.Equal(got.Removed, []string{w.containerName("busy")}) {
		t.Errorf("%+v, %v", got, err)
	}
}

// A label of an image does not make its container ephemeral, and a copy of a workspace's container is not
// stopped or removed with it.
func TestLabelsOfAnImage(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1", "LABEL "+labelEphemeral+"=0123456789abcdef")
	w := newWorkspaces(t, e, t.TempDir())
	createSmall(t, w, "blog", image)
	c := ensure(t, w, "blog")
	if got, err := w.Reconcile(t.Context()); err != nil || !slices.Equal(got.Kept, []string{c.Name}) || len(got.Problems) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	found, err := e.Inspect(t.Context(), c.ID)
	if err != nil || found.State != engine.Running {
		t.Fatalf("%+v, %v", found, err)
	}
	copied := createDirectly(t, e, image, w.containerName("blog")+"-copy", found.Labels, true)
	_ = c.Close()
	if _, err := w.Delete(t.Context(), "blog", nil); err != nil {
		t.Fatal(err)
	}
	if found, err := e.Inspect(t.Context(), copied); err != nil || found.State != engine.Running {
		t.Errorf("%+v, %v", found, err)
	}
}

// bridgedOnly returns the same home on an engine whose containers cannot use sockets of the host.
func bridgedOnly(w *Workspaces) *Workspaces {
	b := &Workspaces{home: w.home, opt: w.opt}
	b.setBridged()
	return b
}

// Deleting a workspace removes its container; a new workspace of the same name gets its own.
func TestRecreateWorkspace(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	createSmall(t, w, "blog", image)
	c := ensure(t, w, "blog")
	_ = c.Close()
	short, err := w.EnsureEphemeral(t.Context(), "blog")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Delete(t.Context(), "blog", nil); err != nil {
		t.Fatal(err)
	}
	if list, err := e.List(t.Context(), map[string]string{labelHome: w.homeHash()}); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if left, err := os.ReadDir(w.folder()); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	if err := short.Close(); err != nil {
		t.Errorf("the end of an ephemeral one whose workspace was deleted: %v", err)
	}
	createSmall(t, w, "blog", image)
	if again := ensure(t, w, "blog"); again.ID == c.ID {
		t.Error("the same container")
	}
}

func tryStopAll(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	ids := map[string]string{}
	for _, slug := range []string{"a", "b", "c"} {
		createSmall(t, w, slug, image)
		c := ensure(t, w, slug)
		ids[slug] = c.ID
		_ = c.Close()
	}
	if err := w.StopAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	for slug, id := range ids {
		if c, err := e.Inspect(t.Context(), id); err != nil || c.State != engine.Exited {
			t.Errorf("%s: %+v, %v", slug, c, err)
		}
		if c := ensure(t, w, slug); c.ID != id {
			t.Errorf("%s is another", slug)
		}
	}
}

// An ephemeral container stores nothing and is removed when its work is done.
func TestEphemeral(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	w := newWorkspaces(t, e, t.TempDir())
	s := createSmall(t, w, "blog", image)
	c, err := w.EnsureEphemeral(t.Context(), "blog")
	if err != nil {
		t.Fatalf("%v (hint: %s)", err, hint(err))
	}
	lasting := ensure(t, w, "blog")
	if c.ID == lasting.ID || !strings.HasPrefix(c.Name, lasting.Name+".") {
		t.Errorf("%s, %s", c.Name, lasting.Name)
	}
	conn, err := c.Dial(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	o := ExecOptions{Args: []string{"holdfast", "write", "/home/agent/note", "x"}, Stdout: &out}
	if exit, err := o.run(t.Context(), conn); err != nil || exit.Code != 0 {
		t.Fatalf("%+v, %v", exit, err)
	}
	_ = conn.Close()
	if left, err := os.ReadDir(w.dirs(s).Home); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
	got, err := w.Reconcile(t.Context())
	if err != nil || len(got.Removed) != 0 || len(got.Problems) != 0 {
		t.Errorf("it is in use: %+v, %v", got, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := e.Inspect(t.Context(), c.ID); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("%v", err)
	}
	if left, err := os.ReadDir(filepath.Join(w.dirs(s).Base, ephemeralName)); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// The ephemeral container of a killed process is found and removed.
func TestEphemeralOrphan(t *testing.T) {
	e := testimage.Engine(t)
	image := testImage(t, e, "1")
	home := t.TempDir()
	w := newWorkspaces(t, e, home)
	s := createSmall(t, w, "blog", image)
	run := exec.Command(os.Args[0], "-test.run=^TestEphemeralElsewhere$")
	run.Env = append(os.Environ(), "HOLDFAST_TEST_EPHEMERAL="+home)
	out, err := run.CombinedOutput()
	if !strings.Contains(string(out), "made it") {
		t.Fatalf("%v: %s", err, out)
	}
	got, err := w.Reconcile(t.Context())
	if err != nil || len(got.Removed) != 1 || len(got.Problems) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if list, err := e.List(t.Context(), map[string]string{labelHome: w.homeHash()}); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	if left, err := os.ReadDir(filepath.Join(w.dirs(s).Base, ephemeralName)); err != nil || len(left) != 0 {
		t.Errorf("%v, %v", left, err)
	}
}

// TestEphemeralElsewhere creates an ephemeral container and is killed.
func TestEphemeralElsewhere(t *testing.T) {
	home := os.Getenv("HOLDFAST_TEST_EPHEMERAL")
	if home == "" {
		return
	}
	w, err := New(home, &Options{Engine: testimage.Engine(t)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.EnsureEphemeral(t.Context(), "blog"); err != nil {
		t.Fatal(err)
	}
	fmt.Println("made it")
	me, _ := os.FindProcess(os.Getpid())
	_ = me.Kill()
	select {}
}
