//go:build linux

package sandbox_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// The callers of these tests.
var (
	root = caller{}
	user = caller{uid: 12345}
	bare = caller{uid: 12345, bare: true}
)

// each runs a test for some callers.
func each(t *testing.T, callers map[string]caller, test func(t *testing.T, who caller)) {
	t.Helper()
	testneed.Root(t, "becoming another user")
	for name, who := range callers {
		t.Run(name, func(t *testing.T) { test(t, who) })
	}
}

var (
	both = map[string]caller{"root": root, "user": user}
	all  = map[string]caller{"root": root, "user": user, "bare": bare}
)

// TestContainForkBomb checks that a fork bomb has at most the allowed number of processes until its time is
// up.
func TestContainForkBomb(t *testing.T) {
	each(t, both, func(t *testing.T, who caller) {
		const most = 40
		s := supervise(t, who, fmt.Sprintf(`{"limits":{"pids":%d,"wallTime":"3s"}}`, most))
		// bash retries where dash gives up
		s.send(order{Script: "exec 2>/dev/null; bash -c 'b() { b | b & }; b; exec /bin/sleep 1000'"})
		seen := 0
		done := make(chan result, 1)
		go func() {
			var r result
			_ = s.results.Decode(&r)
			done <- r
		}()
		var r result
		for ended := false; !ended; {
			select {
			case r = <-done:
				ended = true
			default:
				seen = max(seen, len(s.running()))
			}
		}
		if seen < most-5 || seen > most+1 { // and init
			t.Errorf("%d processes were seen, may be %d", seen, most)
		}
		if r.Code != -1 || r.Took > 20*time.Second {
			t.Errorf("%+v", r)
		}
		s.nothingRuns()
		if r := s.run(order{Script: "for i in 1 2 3; do /bin/sleep 0.01 & done; wait; echo after"}); r.Out != "after\n" {
			t.Errorf("after the bomb: %+v", r)
		}
	})
}

// TestContainProcesses checks that a command sees the error of a fork that the limit refuses, and continues.
func TestContainProcesses(t *testing.T) {
	each(t, both, func(t *testing.T, who caller) {
		s := supervise(t, who, `{"limits":{"pids":12}}`)
		const many = `n=0; while (/bin/sleep 1000 &) 2>/dev/null && [ $n -lt 50 ]; do n=$((n+1)); done; echo $n`
		r := s.run(order{Script: "/bin/sh -c '" + many + "'; echo on"})
		var n int
		if _, err := fmt.Sscanf(r.Out, "%d\non\n", &n); err != nil || n < 5 || n > 12 || r.Code != 0 {
			t.Errorf("%d processes were made: %+v", n, r)
		}
	})
}

// TestContainMemory tests one process, and several that together exceed the limit.
func TestContainMemory(t *testing.T) {
	const settings = `{"limits":{"memory":"64MiB","pids":100}}`
	each(t, both, func(t *testing.T, who caller) {
		s := supervise(t, who, settings)
		r := s.run(order{Script: "/bin/dd if=/dev/zero of=/dev/null bs=200M count=1 && echo it fits"})
		if strings.Contains(r.Out, "it fits") || r.Code == 0 || who == root && !r.OOM {
			t.Errorf("one: %+v", r)
		}
		// each prints its number when it has allocated its memory
		const many = `for i in 1 2 3 4 5 6 7 8; do
			(/bin/dd if=/dev/zero of=/dev/null bs=30M count=100 2>/dev/null && echo done) & done; wait`
		r = s.run(order{Script: many})
		if n := strings.Count(r.Out, "done"); n > 4 || !r.OOM {
			t.Errorf("%d of 8 went on: %+v", n, r)
		}
		if !strings.Contains(r.Report, "memory") {
			t.Errorf("not reported: %q", r.Report)
		}
	})
}

// TestContainTmpfs checks that files in memory count as memory.
func TestContainTmpfs(t *testing.T) {
	each(t, both, func(t *testing.T, who caller) {
		s := supervise(t, who, `{"limits":{"memory":"64MiB"}}`)
		for _, dir := range []string{"/tmp", "/dev/shm"} {
			r := s.run(order{Script: "/bin/dd if=/dev/zero of=" + dir + "/x bs=1M count=300 && echo it fits"})
			if strings.Contains(r.Out, "it fits") || r.Code == 0 {
				t.Errorf("%s: %+v", dir, r)
			}
			// memory of both together
			r = s.run(order{Script: "/bin/dd if=/dev/zero of=" + dir + "/x bs=1M count=8 2>/dev/null && echo it fits"})
			if r.Out != "it fits\n" {
				t.Errorf("8 MiB in %s: %+v", dir, r)
			}
		}
	})
}

// TestContainDisk checks that no file grows beyond the limit.
func TestContainDisk(t *testing.T) {
	each(t, all, func(t *testing.T, who caller) {
		const most = 1 << 20
		s := supervise(t, who, `{"enableWeakerNestedSandbox":true,"limits":{"fileSize":"1MiB"}}`)
		for name, script := range map[string]string{
			"write":    "/bin/dd if=/dev/zero of=write bs=64K count=100",
			"truncate": "/usr/bin/truncate -s 10M truncate",
			"seek":     "/bin/dd if=/dev/zero of=seek bs=1 count=1 seek=2000000",
			"append":   "trap '' XFSZ; yes 0123456789 >> append",
			"allocate": "/usr/bin/fallocate -l 10M allocate",
		} {
			r := s.run(order{Script: script + " && echo it fits"})
			st, err := os.Stat(filepath.Join(s.dir, name))
			if r.Code == 0 || err != nil || st.Size() > most {
				t.Errorf("%s: %v: %+v", name, err, r)
			} else {
				t.Logf("%s: %d bytes", name, st.Size())
			}
		}
	})
}

// TestContainOutput checks that output beyond the limit is dropped and reported.
func TestContainOutput(t *testing.T) {
	each(t, all, func(t *testing.T, who caller) {
		const most = 64 << 10
		s := supervise(t, who, `{"enableWeakerNestedSandbox":true,"limits":{"outputBytes":"64KiB"}}`)
		r := s.run(order{Script: "yes | head -c 30000000; yes error | head -c 30000000 >&2; exit 7"})
		if r.Code != 7 || len(r.Out) < most || len(r.Out) > most+500 {
			t.Errorf("%d bytes, status %d: %s", len(r.Out), r.Code, r.Report)
		}
		if !strings.Contains(r.Out[len(r.Out)-200:]+r.Report, "limit") {
			t.Errorf("not reported: %s", r.Report)
		}
	})
}

// TestContainDaemons checks that processes that leave their parent, process group and session end with the
// command, which does not wait for them.
func TestContainDaemons(t *testing.T) {
	each(t, all, func(t *testing.T, who caller) {
		s := supervise(t, who, `{"enableWeakerNestedSandbox":true}`)
		for name, script := range map[string]string{
			"fork twice":   "(/bin/sleep 1000 &) ; echo started",
			"setsid":       "setsid /bin/sleep 1000 2>/dev/null & echo started",
			"setsid twice": "(setsid /bin/sh -c '(setsid /bin/sleep 1000 &) ; exec /bin/sleep 1000' 2>/dev/null &) ; echo started",
			"deaf":         `setsid /bin/sh -c 'trap "" HUP INT TERM; while :; do /bin/sleep 1; done' >/dev/null 2>&1 & echo started`,
			"nohup":        "nohup /bin/sleep 1000 >/dev/null 2>&1 & echo started",
			"stopped":      "/bin/sleep 1000 & kill -STOP $!; echo started",
		} {
			s.checkSurvivesOutside(name, script)
			r := s.run(order{Script: script})
			if r.Out != "started\n" || r.Code != 0 || r.Took > 20*time.Second {
				t.Errorf("%s: %+v", name, r)
			}
		}
	})
}

// checkSurvivesOutside is the control: without a sandbox such a process continues.
func (s *supervisor) checkSurvivesOutside(name, script string) {
	s.t.Helper()
	control := &supervisor{t: s.t, mark: "control-" + s.mark}
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = []string{"PATH=/usr/bin:/bin", markVar + "=" + control.mark}
	if err := cmd.Run(); err != nil {
		s.t.Fatal(err)
	}
	eventually(s.t, "something of "+name+" that runs without a sandbox", func() bool { return len(control.running()) > 0 })
	quiet := 0 // a process that is about to execute another program briefly has no environment
	eventually(s.t, "its end", func() bool {
		left := control.running()
		for _, p := range left {
			var pid int
			if _, err := fmt.Sscan(p, &pid); err == nil {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
		if quiet++; len(left) > 0 {
			quiet = 0
		}
		return quiet == 3
	})
}

// TestContainKill checks that a kill ends all processes, however they handle other signals.
func TestContainKill(t *testing.T) {
	each(t, all, func(t *testing.T, who caller) {
		s := supervise(t, who, `{"enableWeakerNestedSandbox":true}`)
		for name, script := range map[string]string{
			"deaf":    `trap "" HUP INT TERM QUIT; echo started; while :; do /bin/sleep 1; done`,
			"setsid":  `trap "" TERM; setsid /bin/sh -c 'trap "" TERM; echo started; while :; do /bin/sleep 1; done' & wait`,
			"stopped": `trap "" TERM; /bin/sleep 1000 & kill -STOP $!; echo started; kill -STOP $$`,
			"many":    `trap "" TERM; for i in 1 2 3 4 5 6 7 8 9; do setsid /bin/sleep 1000 & done; echo started; /bin/sleep 1000`,
		} {
			if who.bare && name == "setsid" {
				continue // there no process can leave the session
			}
			r := s.run(order{Script: script, KillAt: "started", Signals: []syscall.Signal{syscall.SIGTERM, syscall.SIGINT}})
			if r.Code != -1 || r.Took > 20*time.Second {
				t.Errorf("%s: %+v", name, r)
			}
		}
	})
}

// TestContainLostParent checks that no process outlives the process that opened the sandbox, and that the
// next sandbox removes what it left. This needs a pid namespace: in the weaker mode only the command itself
// ends, not its child processes.
func TestContainLostParent(t *testing.T) {
	each(t, both, func(t *testing.T, who caller) {
		const settings = `{"limits":{"pids":50,"memory":"256MiB"}}`
		s := supervise(t, who, settings)
		s.send(order{Script: `trap "" HUP INT TERM; setsid /bin/sleep 1000 & (/bin/sleep 1000 &); touch started; exec /bin/sleep 1000`})
		eventually(t, "processes", func() bool { return len(s.running()) >= 3 && exists(filepath.Join(s.dir, "started")) })
		if err := s.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = s.cmd.Wait()
		eventually(t, "the end of what it started", func() bool { return len(s.running()) == 0 })
		next := supervise(t, who, settings)
		if left := s.groups(); len(left) > 0 {
			t.Errorf("groups are left: %q", left)
		}
		if r := next.run(order{Script: "echo on"}); r.Out != "on\n" {
			t.Errorf("another sandbox: %+v", r)
		}
	})
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
