package supervisor

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

func confined(t *testing.T) *supervisorEnv {
	t.Helper()
	h := newUnprivilegedSupervisor(t)
	switch health, err := h.dial().Ping(t.Context()); {
	case err != nil:
		t.Fatal(err)
	case !health.Confined || !health.SignalsConfined:
		testneed.Need(t, "this kernel does not keep processes apart: %s", health.Unconfined)
	}
	return h
}

// The processes of one session cannot affect those of another session or the supervisor, although all have
// the same user.
func TestSessionsIsolated(t *testing.T) {
	h := confined(t)
	secret := "made-" + "up-token"
	victim := h.start("echo ready; exec sleep 1000", func(s *Spec) { s.Env = []string{"TOKEN=" + secret} })
	line(t, victim)
	us := itoa(h.cmd.Process.Pid)
	pid := itoa(victim.Pid())
	reaper := itoa(parentOf(t, victim.Pid()))
	for name, script := range map[string]string{
		"environment":                "cat /proc/" + pid + "/environ",
		"memory":                     "exec 9</proc/" + pid + "/mem",
		"descriptors":                "readlink /proc/" + pid + "/fd/0 || exec 9</proc/" + pid + "/fd/0",
		"folder":                     "cd /proc/" + pid + "/cwd/ || cd /proc/" + pid + "/root/",
		"environment of the reaper":  "cat /proc/" + reaper + "/environ",
		"environment of supervisor":  "cat /proc/" + us + "/environ",
		"memory of the supervisor":   "exec 9</proc/" + us + "/mem",
		"signal":                     "kill -0 " + pid,
		"signal the reaper":          "kill -0 " + reaper,
		"signal the supervisor":      "kill -0 " + us,
		"signal its own reaper":      "kill -0 $PPID",
		"memory of its own reaper":   "exec 9</proc/$PPID/mem",
		"remove the socket":          "rm -f " + h.socket,
		"move the socket":            "mv " + h.socket + " " + h.socket + ".old",
		"move the folder":            "mv " + filepath.Dir(h.socket) + " " + h.dir,
		"replace the socket":         "ln -sf /tmp/x " + h.socket,
		"file beside the socket":     "echo > " + h.socket + ".new",
		"file by another way there":  "cd /proc/self/root" + filepath.Dir(h.socket) + " && echo > new",
		"file by a link":             "ln -s " + filepath.Dir(h.socket) + " way; echo > way/new",
		"change the socket's folder": "mkdir " + filepath.Dir(h.socket) + "/sub",
	} {
		p := h.start(script + " && echo did it")
		if out := output(t, p); strings.Contains(out, "did it") || strings.Contains(out, secret) {
			t.Errorf("%s: %q", name, out)
		}
	}
	if !alive(victim.Pid()) {
		t.Error("the other one was killed")
	}
	if _, err := os.Lstat(h.socket); err != nil {
		t.Error(err)
	}
	if _, err := h.dial().Ping(t.Context()); err != nil {
		t.Error(err)
	}
}

// Without Landlock everything else works, and the host is informed.
func TestOldKernel(t *testing.T) {
	h := newSupervisor(t, "NO_LANDLOCK=1")
	health, err := h.dial().Ping(t.Context())
	if err != nil || health.Confined || health.SignalsConfined || health.Unconfined == "" {
		t.Errorf("%+v, %v", health, err)
	}
	p := h.start(escapes["double fork"], func(s *Spec) { s.Channel = true; s.Grace = -1 })
	hidden := number(t, p)
	if err := p.Kill(t.Context()); err != nil || alive(hidden) {
		t.Errorf("%v, alive: %v", err, alive(hidden))
	}
}

// A session can do everything with its own files and processes.
func TestSessionOwnProcesses(t *testing.T) {
	h := confined(t)
	for name, script := range map[string]string{
		"files":            "echo a > f && mkdir -p d/e && mv f d/e/g && ln d/e/g h && ln -s h i && mkfifo p && rm -r d && cat i",
		"truncation":       "echo long > f && : > f && ! test -s f",
		"git":              "git init -q r && cd r && git -c user.name=t -c user.email=t@example.org commit -q --allow-empty -m a && git gc -q",
		"children":         "sleep 1000 & kill $! && ! wait $!",
		"other session":    "setsid -w sleep 0.01 && (setsid sleep 1000 & kill $!)",
		"own environment":  "cat /proc/self/environ >/dev/null && cat /proc/$$/environ >/dev/null",
		"a child's memory": "sleep 1000 & head -c 0 /proc/$!/mem; r=$?; kill $!; exit $r",
		"devices":          "echo > /dev/null && test -c /dev/tty && head -c 1 /dev/urandom >/dev/null",
		"own pipes":        "echo x > /dev/stdout && echo y > /dev/stderr",
		"shared memory":    "echo > /dev/shm/$$ && rm /dev/shm/$$",
		"files of proc":    "echo 900 > /proc/self/oom_score_adj",
	} {
		p := h.start(script)
		if e := exitOf(t, p); e.Code != 0 {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
