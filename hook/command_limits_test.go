package hook

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// hard are commands that do not end by themselves as they should.
var hard = []struct {
	name, script string
	input        int // bytes of a prompt
	timeout      time.Duration
	fails        bool
	notice       string
}{
	{"never reads 1 MiB", "exit 0", 1 << 20, 5 * time.Second, false, ""},
	{"never reads 1 MiB and does not end", "sleep 1000", 1 << 20, 200 * time.Millisecond, true, ""},
	{"prints 100 MiB", "head -c 104857600 /dev/zero | tr '\\0' a", 0, 20 * time.Second, false, "103809024 bytes were dropped"},
	{"prints 8 MiB of errors", "head -c 8388608 /dev/zero | tr '\\0' a >&2", 0, 20 * time.Second, false, "error output was cut after 65536 bytes"},
	{"prints without end", "yes", 0, 300 * time.Millisecond, true, ""},
	{"leaves one in the background", "sleep 1000 & exit 0", 0, 5 * time.Second, false, ""},
	{"leaves a session", "setsid sleep 1000 & exit 0", 0, 5 * time.Second, false, ""},
	{"leaves a daemon", "(setsid bash -c 'setsid nohup sleep 1000 </dev/null >/dev/null 2>&1 &' &) ; sleep 0.1", 0, 5 * time.Second, false, ""},
	{"leaves a daemon that holds its output", "(setsid bash -c 'trap \"\" TERM HUP; setsid sleep 1000 &' &) ; sleep 0.1", 0, 5 * time.Second, false, ""},
	{"is deaf", "trap '' TERM INT HUP; sleep 1000; sleep 1000", 0, 200 * time.Millisecond, true, ""},
	{"is deaf, with a daemon", "trap '' TERM; setsid sleep 1000 & sleep 1000; sleep 1000", 0, 200 * time.Millisecond, true, ""},
	{"stops itself", "kill -STOP $$; sleep 1000", 0, 200 * time.Millisecond, true, ""},
	{"many of them", "for i in $(seq 20); do setsid sleep 1000 & done; wait", 0, 300 * time.Millisecond, true, ""},
	{"asks to end and does so", "trap 'exit 0' TERM; sleep 1000 & wait", 0, 200 * time.Millisecond, true, ""},
}

func TestMisbehavingCommands(t *testing.T) {
	eachSandbox(t, func(t *testing.T, f *fixture, a string) {
		for i, tt := range hard {
			t.Run(tt.name, func(t *testing.T) {
				runHard(t, f, a, fmt.Sprintf("%s%d", a, i), tt.script, tt.input, tt.timeout, tt.fails, tt.notice)
			})
		}
	})
}

// Where there is no pid namespace, what stays in the group ends all the same, and
// what has left it is not waited for.
func TestMisbehavingCommandsInGroup(t *testing.T) {
	f := newGroupFixture(t)
	for i, tt := range hard {
		if strings.Contains(tt.script, "setsid") {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			runHard(t, f, sandboxOff, fmt.Sprintf("group%d", i), tt.script, tt.input, tt.timeout, tt.fails, tt.notice)
		})
	}
	t.Run("what left the group is not waited for", func(t *testing.T) {
		const script = "export MARK=away; mkfifo away; setsid bash -c 'echo >away; exec sleep 1000' & read <away"
		if _, err := f.do(t, Definition{Event: Notification, Sandbox: sandboxOff, Command: script}, Input{}); err != nil {
			t.Fatal(err)
		}
		away := processesWith(t, "MARK=away")
		if len(away) == 0 {
			t.Error("it has ended")
		}
		for _, p := range away {
			pid, _, _ := strings.Cut(p, " ")
			if err := exec.Command("kill", "-9", pid).Run(); err != nil {
				t.Error(err)
			}
		}
		waitGone(t, "MARK=away")
	})
}

func runHard(t *testing.T, f *fixture, a string, mark, script string, input int, timeout time.Duration, fails bool, notice string) {
	t.Helper()
	began := time.Now()
	d := Definition{Event: Notification, Sandbox: a, Timeout: timeout, Command: "export MARK=" + mark + "; " + script}
	answer, err := f.do(t, d, Input{Note: UserNotification{Body: strings.Repeat("x", input)}})
	took := time.Since(began)
	if took > timeout+patience {
		t.Errorf("it took %s, with a time of %s", took, timeout)
	}
	if (err != nil) != fails {
		t.Errorf("the failure is %v", err)
	}
	if fails && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v does not say that its time was up", err)
	}
	if !strings.Contains(answer.Notice, notice) {
		t.Errorf("the notice is %q, want %q in it", answer.Notice, notice)
	}
	waitGone(t, "MARK="+mark)
}

func TestCancelledCommand(t *testing.T) {
	eachSandbox(t, func(t *testing.T, f *fixture, a string) {
		ctx, cancel := context.WithCancel(context.Background())
		timer := time.AfterFunc(100*time.Millisecond, cancel)
		defer timer.Stop()
		began := time.Now()
		_, err := f.Run(ctx, &Definition{Event: Stop, Sandbox: a, Command: "trap '' TERM; export MARK=cancelled; sleep 1000; sleep 1000"}, &Input{Event: Stop, CWD: f.dir})
		if !errors.Is(err, context.Canceled) || time.Since(began) > patience {
			t.Errorf("%v, after %s", err, time.Since(began))
		}
		waitGone(t, "MARK=cancelled")
		if _, err := f.Run(ctx, &Definition{Event: Stop, Sandbox: a, Command: "true"}, &Input{Event: Stop, CWD: f.dir}); !errors.Is(err, context.Canceled) {
			t.Errorf("a run that has ended starts a command: %v", err)
		}
	})
}
