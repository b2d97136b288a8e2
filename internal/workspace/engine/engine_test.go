package engine

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// testEngine returns the test engine of this machine.
func testEngine(t testing.TB) *Engine {
	t.Helper()
	e, err := Connect(t.Context(), testneed.Engine(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	return e
}

// programImage builds a static program from one file and returns an image that contains nothing else.
func programImage(t testing.TB, e *Engine, source string) Image {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "program"), filepath.Join(dir, "main.go"))
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	binary, err := os.ReadFile(filepath.Join(dir, "program"))
	if err != nil {
		t.Fatal(err)
	}
	ref := unique(t)
	id, err := e.Import(t.Context(), pack(t, map[string][]byte{"program": binary}), ref, []string{`ENTRYPOINT ["/program"]`, "LABEL dev.holdfast.test=1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.RemoveImage(context.WithoutCancel(t.Context()), ref) })
	img, err := e.Image(t.Context(), ref)
	if err != nil || img.ID != id {
		t.Fatalf("%+v, %v; imported as %s", img, err, id)
	}
	return img
}

func unique(t testing.TB) string {
	return fmt.Sprintf("holdfast-test/%s:%d", strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())), time.Now().UnixNano())
}

func pack(t testing.TB, files map[string][]byte) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for name, body := range files {
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
	return &b
}

// create creates a container that is removed when the test ends.
func create(t testing.TB, e *Engine, s Spec) string {
	t.Helper()
	id, err := e.Create(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Remove(context.WithoutCancel(t.Context()), id); err != nil {
			t.Error(err)
		}
	})
	return id
}

// A program that prints its restrictions, echoes lines, and ends with its input.
const echo = `package main

import (
	"bufio"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "wait" {
		fmt.Println("waiting")
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		<-c
		fmt.Println("asked to end")
		os.Exit(3)
	}
	b, _ := os.ReadFile("/proc/self/status")
	for _, l := range strings.Split(string(b), "\n") {
		for _, p := range []string{"Uid", "CapEff", "CapBnd", "NoNewPrivs", "Seccomp:"} {
			if strings.HasPrefix(l, p) {
				fmt.Println(strings.Join(strings.Fields(l), " "))
			}
		}
	}
	fmt.Fprintln(os.Stderr, "an error")
	fmt.Println("root:", os.WriteFile("/file", nil, 0o600))
	fmt.Println("tmp:", os.WriteFile("/tmp/file", nil, 0o600))
	for s := bufio.NewScanner(os.Stdin); s.Scan(); {
		fmt.Println("echo", s.Text())
	}
}
`

func TestContainer(t *testing.T) {
	e := testEngine(t)
	img := programImage(t, e, echo)
	name := fmt.Sprintf("holdfast-test-engine-%d", time.Now().UnixNano())
	label := map[string]string{"dev.holdfast.test": name}
	spec := Spec{
		Name: name, Image: img.ID, Labels: label, Command: []string{"/program", "wait"}, User: "4711:4711", Dir: "/",
		Tmpfs:  []Tmpfs{{Target: "/tmp", Size: 1 << 20, Mode: 0o777 | os.ModeSticky, UID: 4711, GID: 4711}},
		Memory: 64 << 20, NanoCPUs: 500_000_000, PIDs: 64, Files: 256,
	}
	id := create(t, e, spec)
	state := func(want State) Container {
		t.Helper()
		c, err := e.Inspect(t.Context(), name)
		if err != nil || c.ID != id || c.Name != name || c.Image != img.ID || c.Labels["dev.holdfast.test"] != name || c.State != want {
			t.Fatalf("%+v, %v; want %s", c, err, want)
		}
		return c
	}
	state(Created)
	if _, err := e.Create(t.Context(), spec); !errors.Is(err, ErrConflict) {
		t.Errorf("the same name again: %v", err)
	}
	if err := e.Start(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if c := state(Running); c.PID == 0 {
		t.Error("no process")
	}
	if err := e.Start(t.Context(), id); err != nil {
		t.Errorf("started again: %v", err)
	}
	t.Run("exec", func(t *testing.T) { tryExec(t, e, id) })
	if list, err := e.List(t.Context(), label); err != nil || len(list) != 1 || list[0].ID != id || list[0].Name != name || list[0].State != Running {
		t.Errorf("%+v, %v", list, err)
	}
	if err := e.Stop(t.Context(), id, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	if c := state(Exited); c.ExitCode != 3 || c.OOMKilled {
		t.Errorf("%+v", c)
	}
	if text, err := e.Logs(t.Context(), id, 10); err != nil || text != "waiting\nasked to end" {
		t.Errorf("%q, %v", text, err)
	}
	if err := e.Stop(t.Context(), id, 0); err != nil {
		t.Errorf("stopped again: %v", err)
	}
	for range 2 {
		if err := e.Remove(t.Context(), id); err != nil {
			t.Error(err)
		}
	}
	if _, err := e.Inspect(t.Context(), name); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	if err := e.Start(t.Context(), id); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
}

func tryExec(t *testing.T, e *Engine, id string) {
	if _, err := e.Exec(t.Context(), id, ExecSpec{Command: []string{"/program"}}); !errors.Is(err, ErrRefused) {
		t.Errorf("without a user: %v", err)
	}
	st, err := e.Exec(t.Context(), id, ExecSpec{Command: []string{"/program"}, User: "4711:4711"})
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	if _, err := io.WriteString(st, "one\ntwo\n"); err != nil {
		t.Fatal(err)
	}
	if err := st.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	out, err := io.ReadAll(st)
	want := "Uid: 4711 4711 4711 4711\nCapEff: 0000000000000000\nCapBnd: 0000000000000000\nNoNewPrivs: 1\nSeccomp: 2\n" +
		"root: open /file: read-only file system\ntmp: <nil>\necho one\necho two\n"
	if err != nil || string(out) != want {
		t.Errorf("%v, %s", err, out)
	}
	if st.Stderr() != "an error\n" {
		t.Errorf("%q", st.Stderr())
	}
}

// A missing program and a missing image are reported as such.
func TestNoProgramNoImage(t *testing.T) {
	e := testEngine(t)
	img := programImage(t, e, "package main\nfunc main() {}\n")
	name := fmt.Sprintf("holdfast-test-engine-%d", time.Now().UnixNano())
	id := create(t, e, Spec{Name: name, Image: img.ID, Command: []string{"/other"}, User: "4711:4711"})
	if err := e.Start(t.Context(), id); err != nil { // the init process starts
		t.Fatal(err)
	}
	for c, err := e.Inspect(t.Context(), id); c.State != Exited; c, err = e.Inspect(t.Context(), id) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if text, err := e.Logs(t.Context(), id, 5); err != nil || !strings.Contains(text, "/other") {
		t.Errorf("%q, %v", text, err)
	}
	_, err := e.Create(t.Context(), Spec{Name: name + "-2", Image: "holdfast-test/none:1", User: "4711:4711"})
	if f, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrNoImage) || f.Hint() == "" {
		t.Errorf("%v", err)
	}
	if _, err := e.Image(t.Context(), "holdfast-test/none:1"); !errors.Is(err, ErrNoImage) {
		t.Errorf("%v", err)
	}
}

// The engine reports every restriction that was requested, for every user.
func TestLockedDown(t *testing.T) {
	e := testEngine(t)
	img := programImage(t, e, "package main\nfunc main() {}\n")
	dir := t.TempDir()
	id := create(t, e, Spec{
		Name: fmt.Sprintf("holdfast-test-engine-%d", time.Now().UnixNano()), Image: img.ID, Command: []string{"/program"}, User: "4711:4711",
		Memory: 64 << 20, NanoCPUs: 500_000_000, PIDs: 64, Files: 256, Mounts: []Mount{{Source: dir, Target: "/work", ReadOnly: true}},
	})
	raw, err := e.InspectRaw(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Config     struct{ User string }
		HostConfig map[string]any
	}
	if err := json.Unmarshal(raw, &got); err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{
		"NetworkMode": `"none"`, "Init": "true", "CapDrop": `["ALL"]`, "CapAdd": "null", "SecurityOpt": `["no-new-privileges"]`,
		"ReadonlyRootfs": "true", "Privileged": "false", "IpcMode": `"private"`, "PidMode": `""`, "UTSMode": `""`, "UsernsMode": `""`,
		"Memory": "67108864", "MemorySwap": "67108864", "NanoCpus": "500000000", "PidsLimit": "64", "Devices": "null", "Binds": "null",
		"Ulimits":       `[{"Hard":0,"Name":"core","Soft":0},{"Hard":256,"Name":"nofile","Soft":256}]`,
		"RestartPolicy": `{"MaximumRetryCount":0,"Name":""}`, "LogConfig": `{"Config":{"max-file":"1","max-size":"1048576"},"Type":"json-file"}`,
		"Mounts":     `[{"BindOptions":{"Propagation":"rprivate"},"ReadOnly":true,"Source":"` + dir + `","Target":"/work","Type":"bind"}]`,
		"AutoRemove": "false", "OomKillDisable": "false",
	} {
		b, _ := json.Marshal(got.HostConfig[key])
		if s := strings.ReplaceAll(string(b), "[]", "null"); s != want {
			t.Errorf("%s is %s, want %s", key, s, want)
		}
	}
	if got.Config.User != "4711:4711" {
		t.Errorf("user %q", got.Config.User)
	}
}

func TestBuild(t *testing.T) {
	e := testEngine(t)
	ref := unique(t)
	var lines []string
	id, err := e.Build(t.Context(), pack(t, map[string][]byte{
		"Dockerfile": []byte("FROM scratch\nCOPY file /file\nLABEL made=here\n"), "file": []byte("text"),
	}), BuildOptions{Ref: ref, Labels: map[string]string{"dev.holdfast.test": ref}, Progress: func(l string) { lines = append(lines, l) }})
	if err != nil {
		t.Fatal(err)
	}
	img, err := e.Image(t.Context(), ref)
	if err != nil || img.ID != id || img.Labels["made"] != "here" || img.Labels["dev.holdfast.test"] != ref {
		t.Errorf("%+v, %v", img, err)
	}
	if text := strings.Join(lines, "\n"); !strings.Contains(text, "Step 2/") || strings.Contains(text, "\n\n") {
		t.Errorf("%q", lines)
	}
	if list, err := e.Images(t.Context(), map[string]string{"dev.holdfast.test": ref}); err != nil || len(list) != 1 || list[0].ID != id {
		t.Errorf("%+v, %v", list, err)
	}
	if err := e.RemoveImage(t.Context(), ref); err != nil {
		t.Error(err)
	}
	if err := e.RemoveImage(t.Context(), ref); !errors.Is(err, ErrNoImage) {
		t.Errorf("%v", err)
	}
	for file, want := range map[string]error{"FROM scratch\nCOPY none /file\n": ErrRefused, "FROM 127.0.0.1:1/none\n": ErrRefused, "FROMM\n": ErrRefused} {
		_, err := e.Build(t.Context(), pack(t, map[string][]byte{"Dockerfile": []byte(file)}), BuildOptions{Ref: ref})
		if !errors.Is(err, want) {
			t.Errorf("%q: %v", file, err)
		}
	}
}

func TestWatch(t *testing.T) {
	e := testEngine(t)
	img := programImage(t, e, "package main\nfunc main() {}\n")
	name := fmt.Sprintf("holdfast-test-engine-%d", time.Now().UnixNano())
	label := map[string]string{"dev.holdfast.test": name}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var actions []string
	started := make(chan struct{})
	go func() {
		<-started
		ok := false
		defer func() {
			if !ok { // no event will come
				cancel()
			}
		}()
		id := create(t, e, Spec{Name: name, Image: img.ID, Labels: label, Command: []string{"/program"}, User: "4711:4711"})
		ok = e.Start(t.Context(), id) == nil
	}()
	close(started)
	for ev, err := range e.Watch(ctx, label) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Name != name || ev.Time.IsZero() || ev.ID == "" {
			t.Errorf("%+v", ev)
		}
		if actions = append(actions, ev.Action); ev.Action == "die" {
			break
		}
	}
	if got := strings.Join(actions, " "); got != "create start die" && got != "start die" {
		t.Errorf("%s", got)
	}
}

func TestInfo(t *testing.T) {
	info, err := testEngine(t).Info(t.Context())
	if err != nil || !strings.HasPrefix(info.Name, "Docker ") || info.CPUs == 0 || info.Memory == 0 || info.Cgroup == "" || info.Unusable != "" {
		t.Errorf("%+v, %v", info, err)
	}
}
