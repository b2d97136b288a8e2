package supervisor

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// memoryGroup creates a control group of 64 MiB, and returns the file to which a process is written to join
// it.
func memoryGroup(t *testing.T) string {
	t.Helper()
	const limit = "67108864"
	name := "holdfast-test-" + itoa(os.Getpid())
	dir, file := filepath.Join("/sys/fs/cgroup/memory", name), "memory.limit_in_bytes"
	if _, err := os.Stat("/sys/fs/cgroup/memory"); err != nil {
		dir, file = filepath.Join("/sys/fs/cgroup", name), "memory.max"
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		testneed.Root(t, "making a control group")
		testneed.Need(t, "no control group can be made here: %v", err)
	}
	t.Cleanup(func() {
		wait(t, "the group is empty", func() bool { return os.Remove(dir) == nil })
	})
	if err := os.WriteFile(filepath.Join(dir, file), []byte(limit), 0o600); err != nil {
		testneed.Need(t, "no memory controller here: %v", err)
	}
	_ = os.WriteFile(filepath.Join(dir, "memory.swap.max"), []byte("0"), 0o600)
	return filepath.Join(dir, "cgroup.procs")
}

// The kernel kills the process that uses up the memory, and only that process's exit reports it.
func TestOutOfMemory(t *testing.T) {
	group := memoryGroup(t)
	cmd := exec.Command("sh", "-c", `echo $$ > "$1" && shift && exec "$@"`, "sh", group, os.Args[0], "test-serve")
	h := newSupervisorIn(t, t.TempDir(), cmd)
	const hog = "x=a; while :; do x=$x$x; done"
	other := h.start("echo ready; exec cat")
	line(t, other)
	before, err := h.dial().Ping(t.Context())
	if err != nil || before.OOMKills < 0 {
		t.Fatalf("%+v, %v", before, err)
	}
	if e := exitOf(t, h.start(hog)); !e.OOM || e.Signal != "SIGKILL" || e.Code != 137 {
		t.Errorf("the hog: %+v", e)
	}
	if e := exitOf(t, h.start("sh -c '"+hog+"'; exit $?")); !e.OOM || e.Signal != "" || e.Code != 137 {
		t.Errorf("the hog's parent: %+v", e)
	}
	after, err := h.dial().Ping(t.Context())
	if err != nil || after.OOMKills != before.OOMKills+2 {
		t.Errorf("%d kills became %d, %v", before.OOMKills, after.OOMKills, err)
	}
	_ = other.Stdin().Close()
	if e := exitOf(t, other); e.Code != 0 || e.OOM {
		t.Errorf("the other one: %+v", e)
	}
}

func TestMeter(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]int64{
		"low 0\nhigh 0\nmax 7\noom 3\noom_kill 2\noom_group_kill 0\n": 2,
		"oom_kill_disable 0\nunder_oom 0\noom_kill 5\n":               5,
		"oom_kill\n": -1, "": -1, "oom_kill many\n": -1, "oom_kill 1": 1,
	} {
		file := filepath.Join(dir, "events")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := readMeter(file); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := readMeter(filepath.Join(dir, "no")); got != -1 {
		t.Error(got)
	}
	m := openMeter()
	m.file = ""
	if m.count() != -1 || m.recent() {
		t.Error("a meter of nothing counts")
	}
	file := filepath.Join(dir, "counter")
	set := func(n string) {
		if err := os.WriteFile(file, []byte("oom_kill "+n+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set("4")
	m.file, m.seen = file, 4
	if m.recent() || m.count() != 4 {
		t.Error("nothing has grown")
	}
	set("5")
	if !m.recent() || m.count() != 5 {
		t.Error("it has grown")
	}
	m.grew = time.Now().Add(-meterRecent)
	if m.recent() {
		t.Error("that was long ago")
	}
}
