package workspace

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
	"github.com/holdfast-dev/holdfast/internal/workspace/engine"
)

// separateEngine is an engine that a test may kill.
type separateEngine struct {
	t   *testing.T
	dir string
}

func startEngine(t *testing.T, settings string) *separateEngine {
	t.Helper()
	script := os.Getenv("HOLDFAST_TEST_DOCKER_ENGINE")
	testneed.Root(t, "starting a container engine")
	if script == "" {
		testneed.Need(t, `no engine of its own: eval "$(scripts/services env docker)" makes this run`)
	}
	dir, err := os.MkdirTemp("", "hf-engine-") // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "daemon.json"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	run := exec.Command("bash", script, dir)
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = run.Process.Signal(syscall.SIGTERM)
		_ = run.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "engine answers") {
		t.Fatalf("%q, %v", line, err)
	}
	return &separateEngine{t, dir}
}

func (o *separateEngine) host() string { return "unix://" + filepath.Join(o.dir, "docker.sock") }

// kill kills dockerd, like a crash.
func (o *separateEngine) kill() {
	o.t.Helper()
	b, err := os.ReadFile(filepath.Join(o.dir, "docker.pid"))
	if err != nil {
		o.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil {
		o.t.Fatal(err)
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		o.t.Fatal(err)
	}
}

func (o *separateEngine) start() {
	o.t.Helper()
	if out, err := exec.Command(filepath.Join(o.dir, "run")).CombinedOutput(); err != nil {
		o.t.Fatalf("%v: %s", err, out)
	}
}

// After a crash of the engine its containers may be gone: the next Ensure returns one either way. With
// live-restore, running containers survive without the engine.
func TestEngineRestart(t *testing.T) {
	for name, tt := range map[string]struct {
		settings string
		lives    bool
	}{
		"plain":        {"{}", false},
		"live-restore": {`{"live-restore": true}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			if testing.Short() && !tt.lives {
				t.Skip("starts an engine: make test-all tries both ways")
			}
			t.Parallel()
			separate := startEngine(t, tt.settings)
			e, err := engine.Connect(t.Context(), separate.host())
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			image := testImage(t, e, "1")
			w := newWorkspaces(t, e, t.TempDir())
			createSmall(t, w, "blog", image)
			c := ensure(t, w, "blog")
			output(t, w, "blog", "write", "/home/agent/note", "kept")
			working := begin(t, c, "wait")
			separate.kill()
			if exit, err := working.p.Wait(brief(t)); tt.lives && err == nil {
				t.Errorf("it ended with the engine: %+v", exit)
			}
			if _, err := w.Ensure(t.Context(), "blog"); !errors.Is(err, ErrNoEngine) {
				t.Errorf("without the engine: %v", err)
			}
			separate.start()
			again := ensure(t, w, "blog")
			if again.ID != c.ID {
				t.Error("another container")
			}
			if got := output(t, w, "blog", "read", "/home/agent/note"); got != "kept" {
				t.Errorf("%q", got)
			}
			if !tt.lives {
				if exit, err := working.p.Wait(t.Context()); err == nil && exit.Signal == "" {
					t.Errorf("it ended by itself with its container: %+v", exit)
				}
				return
			}
			if again.Health.Processes != 1 {
				t.Errorf("%+v", again.Health)
			}
			if exit := working.finish(t); exit.Code != 0 {
				t.Errorf("%+v", exit)
			}
		})
	}
}

// brief is a context that ends soon, for callers that only look.
func brief(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}
