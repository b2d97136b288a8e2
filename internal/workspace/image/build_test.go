package image

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/supervisor"
	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/version"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// testEngine returns the test engine of this machine.
func testEngine(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := engine.Connect(t.Context(), testneed.Engine(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// specOf returns a spec whose image is removed when the test ends.
func specOf(t testing.TB, e *engine.Engine, variant string) Spec {
	t.Helper()
	s := Spec{Variant: variant, Tag: unique(t), Binary: holdfast(t), Folder: t.TempDir()}
	removeAtEnd(t, e, s.Tag)
	return s
}

func unique(t testing.TB) string {
	return fmt.Sprintf("holdfast-test/%s:%d", strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())), time.Now().UnixNano())
}

func removeAtEnd(t testing.TB, e *engine.Engine, ref string) {
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		for {
			err := e.RemoveImage(ctx, ref)
			if errors.Is(err, engine.ErrConflict) && ctx.Err() == nil {
				pause := time.NewTimer(100 * time.Millisecond) // the engine has not ended a canceled build yet
				select {
				case <-pause.C:
				case <-ctx.Done():
				}
				continue
			}
			if err != nil && !errors.Is(err, ErrNoImage) {
				t.Error(err)
			}
			return
		}
	})
}

// progressLog collects the progress reports of a build.
type progressLog struct {
	mu  sync.Mutex
	all []Progress
}

func (h *progressLog) report(p Progress) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, p)
}

// last returns the last report.
func (h *progressLog) last() Progress { return h.all[len(h.all)-1] }

func (h *progressLog) has(stage string) bool {
	return slices.ContainsFunc(h.all, func(p Progress) bool { return p.Stage == stage })
}

// layers returns the digests of an image's layers.
func layers(t testing.TB, ref string) []string {
	t.Helper()
	var got struct{ RootFS struct{ Layers []string } }
	ask(t, "/images/"+ref+"/json", &got)
	return got.RootFS.Layers
}

func TestScratch(t *testing.T) {
	e := testEngine(t)
	s := specOf(t, e, Scratch)
	var h progressLog
	id, err := Build(t.Context(), e, s, h.report)
	if err != nil {
		t.Fatal(err)
	}
	if p := h.last(); p.Stage != Done || p.Text != s.Tag+" built" || !h.has(Send) {
		t.Errorf("%+v", h.all)
	}
	img, err := Find(t.Context(), e, s.Tag)
	if err != nil {
		t.Fatal(err)
	}
	b, err := openBinary(s.Binary, runtime.GOARCH)
	if err != nil {
		t.Fatal(err)
	}
	if img.ID != id || img.Variant != Scratch || img.Version != version.Current().Version || img.Binary != b.sum ||
		img.Protocol != supervisor.Protocol || len(img.Agents) != 0 || img.Base != "" || img.Size != b.size+int64(len(passwd+group)) {
		t.Errorf("%+v", img)
	}
	h = progressLog{}
	if again, err := Build(t.Context(), e, s, h.report); err != nil || again != id || h.last().Text != s.Tag+" is up to date" || h.has(Send) {
		t.Errorf("%s, %v, %+v", again, err, h.all)
	}
	// Rebuilt by another process with another folder, the image is the same.
	s.NoCache, s.Folder = true, t.TempDir()
	h = progressLog{}
	if again, err := Build(t.Context(), e, s, h.report); err != nil || again != id || !h.has(Send) {
		t.Errorf("%s, %v", again, err)
	}
	if list, err := List(t.Context(), e); err != nil || !slices.ContainsFunc(list, func(i Image) bool { return i.ID == id && i.Tags[0] == s.Tag }) {
		t.Errorf("%+v, %v", list, err)
	}
	checkLeftovers(t, s.Folder)
}

// checkLeftovers checks what a build leaves in its folder: its lock and the packages.
func checkLeftovers(t *testing.T, dir string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "packages" && filepath.Ext(e.Name()) != ".lock" {
			t.Errorf("%s is left", e.Name())
		}
	}
}

// The image works as workspaces use it: locked down, with only the mounts writable, for any user, and also if
// a user starts it by hand.
func TestScratchRuns(t *testing.T) {
	e := testEngine(t)
	s := specOf(t, e, Scratch)
	id, err := Build(t.Context(), e, s, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, uid := range []int{UID, 1000} {
		work := t.TempDir()
		if err := os.Chown(work, uid, uid); err != nil {
			testneed.Root(t, "giving a folder to another user")
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Dir(work), 0o711); err != nil {
			t.Fatal(err)
		}
		out := start(t, e, engine.Spec{
			Image: id, Command: []string{Program}, User: fmt.Sprintf("%d:%[1]d", uid), Dir: Work,
			Mounts: []engine.Mount{{Source: work, Target: Work}},
			Tmpfs: []engine.Tmpfs{
				{Target: "/tmp", Size: 1 << 20, Mode: 0o777 | os.ModeSticky, UID: uid, GID: uid},
				{Target: "/var/tmp", Size: 1 << 20, Mode: 0o777 | os.ModeSticky, UID: uid, GID: uid},
				{Target: Home, Size: 1 << 20, Mode: 0o700, UID: uid, GID: uid},
			},
		})
		want := fmt.Sprintf(`%d %[1]d /work /home/agent true
/ drwxr-xr-x false
/home/agent drwx------ true
/work drwxr-xr-x true
/tmp dtrwxrwxrwx true
/var/tmp dtrwxrwxrwx true
/run/holdfast drwxr-xr-x false`, uid)
		if out != want {
			t.Errorf("%s", out)
		}
	}
	var got struct{ Config runConfig }
	ask(t, "/images/"+id+"/json", &got)
	if c := got.Config; c.User != "4711:4711" || c.WorkingDir != Work || !slices.Equal(c.Entrypoint, []string{Program}) || !slices.Equal(c.Cmd, []string{"supervise"}) {
		t.Errorf("%+v", c)
	}
}

// start runs a container to its end and returns its output.
func start(t *testing.T, e *engine.Engine, s engine.Spec) string {
	t.Helper()
	s.Name = fmt.Sprintf("holdfast-test-image-%d", time.Now().UnixNano())
	id, err := e.Create(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Remove(context.WithoutCancel(t.Context()), id); err != nil {
			t.Error(err)
		}
	}()
	if err := e.Start(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	for {
		c, err := e.Inspect(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if c.State == engine.Exited {
			break
		}
		select {
		case <-t.Context().Done():
			t.Fatal("it does not end")
		case <-time.After(10 * time.Millisecond):
		}
	}
	out, err := e.Logs(t.Context(), id, 100)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(out)
}

// Concurrent builds of one name run one after the other, and the later ones find the image up to date.
func TestConcurrentBuilds(t *testing.T) {
	e := testEngine(t)
	s := specOf(t, e, Scratch)
	var h progressLog
	ids := make([]string, 4)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			var err error
			if ids[i], err = Build(t.Context(), e, s, h.report); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	built := 0
	for _, p := range h.all {
		if p.Stage == Done && strings.HasSuffix(p.Text, " built") {
			built++
		}
	}
	if slices.Sort(ids); ids[0] == "" || ids[0] != ids[3] || built != 1 || !h.has(Wait) {
		t.Errorf("%q, %d built", ids, built)
	}
}

// A canceled build leaves no named image and no file, and does not change the existing name. Unnamed images
// and the builder's containers are not checked: an engine that cancels a build completes the current step,
// does not report its end, and removes the container only then. The next build of the name removes leftovers.
func TestCancel(t *testing.T) {
	e := testEngine(t)
	for _, variant := range []string{Scratch, Debian} {
		t.Run(variant, func(t *testing.T) {
			s := specOf(t, e, variant)
			if variant == Debian {
				s.Base = tiny(t, e)
			}
			for _, stage := range []string{Send, Make} {
				ctx, cancel := context.WithCancel(t.Context())
				_, err := Build(ctx, e, s, func(p Progress) {
					if p.Stage == stage {
						cancel()
					}
				})
				done := ctx.Err() != nil
				cancel()
				if err == nil && done && variant == Debian || err != nil && !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", stage, err)
				}
				if _, err := e.Image(t.Context(), s.Tag); stage == Send && !errors.Is(err, ErrNoImage) {
					t.Errorf("there is an image, %v", err)
				}
				checkLeftovers(t, s.Folder)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s := specOf(t, e, Scratch)
	if _, err := Build(ctx, e, s, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// tiny is a base image of a few files.
func tiny(t testing.TB, e *engine.Engine) string {
	t.Helper()
	ref := unique(t) + "-base"
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range sorted(text("etc/os-release", "ID=tiny\n"), folder("usr/local/bin", 0o755), folder("tmp", 0o1777)) {
		if err := f.write(w, "", true); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Import(t.Context(), &b, ref, []string{"ENV FROM=base", "USER nobody"}); err != nil {
		t.Fatal(err)
	}
	removeAtEnd(t, e, ref)
	return ref
}

// A foreign image is not used, and a missing image is reported as missing.
func TestFindForeign(t *testing.T) {
	e := testEngine(t)
	for _, ref := range []string{tiny(t, e), "holdfast-test/none:1"} {
		_, err := Find(t.Context(), e, ref)
		if f, ok := errors.AsType[interface {
			error
			Hint() string
		}](err); !ok || !errors.Is(err, ErrNoImage) || f.Hint() == "" {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

// A build folder that cannot be used is reported before anything is built.
func TestLockFails(t *testing.T) {
	dir := t.TempDir()
	l, err := lock(t.Context(), dir, "a", func() { t.Error("it waits without another build") })
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "left"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := lock(ctx, dir, "a", cancel); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	other, err := lock(t.Context(), dir, "b", func() { t.Error("it is another name") })
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(other.release(), l.release()); err != nil {
		t.Error(err)
	}
	checkLeftovers(t, dir)
}

func ask(t testing.TB, path string, into any) {
	t.Helper()
	b := get(t, path)
	if err := json.Unmarshal(b, into); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
}
