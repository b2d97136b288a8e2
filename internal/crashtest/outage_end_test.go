//go:build linux

package crashtest

import (
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A daemon that is shutting down refuses new runs and lets running ones end. An approval
// request without an answer stays open.
func TestDaemonDrains(t *testing.T) {
	d := newDaemonEnv(t, "")
	waits := d.run("waits", asksOnce, "default")
	waits.asked(1)
	tool := d.run("tool", "steps:\n  - tool_uses: [{tool: Bash, input: {command: \"echo begun >> ran; sleep 4; echo it >> ran\"}}]\n  - text: done\n", "bypassPermissions")
	tool.awaitLines(1)
	if err := d.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	within(t, 10*time.Second, "503 of /readyz", func() bool {
		status, err := d.call(t.Context(), http.MethodGet, "/readyz", nil, nil)
		return status == http.StatusServiceUnavailable && strings.Contains(err.Error(), "the daemon is shutting down")
	})
	d.refused(503, "unavailable", "/v1/runs", map[string]string{"cwd": waits.dir, "input": "x", "model": "scripted/" + waits.dir + "/play.yaml"})
	<-d.over
	if code := d.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("the daemon ended with %d", code)
	}
	d.start()
	if info := tool.info(); info.Status != "completed" || tool.ran() != "begun it" {
		t.Errorf("what worked is %v, ran %q", info, tool.ran())
	}
	if open := waits.open(); len(open) != 1 {
		t.Errorf("open are %v", open)
	}
}

// An allow for an interrupted run says that nothing happens by itself; with continue the run
// goes on. The daemon of the unit goes on by itself.
func TestInterruptedRunContinues(t *testing.T) {
	d := newDaemonEnv(t, "")
	left, goesOn := d.run("left", asksOnce, "default"), d.run("goes-on", asksOnce, "default")
	question, other := left.asked(1)[0], goesOn.asked(1)[0]
	d.kill()
	d.start()
	var answered struct{ State, Run string }
	d.post(decisionOf(question), map[string]any{"decision": "allow"}, &answered)
	if answered.State != "approved" || answered.Run != "interrupted" || left.info().Status != "interrupted" {
		t.Errorf("the answer is %+v, the run %v", answered, left.info())
	}
	d.post(decisionOf(question), map[string]any{"decision": "allow", "continue": true}, &answered)
	within(t, time.Minute, "end of the run", func() bool { return left.info().ended() })
	if info := left.info(); info.Status != "completed" || left.ran() != "it" {
		t.Errorf("continued, the run is %v, ran %q", info, left.ran())
	}
	d.kill()

	unit, err := exec.CommandContext(t.Context(), d.bin, "daemon", "unit").Output()
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(unit), "\nExecStart=")
	line, _, _ = strings.Cut(line, "\n")
	words := strings.Fields(line)
	i := slices.Index(words, "daemon")
	if i < 0 || !slices.Contains(words, "--resume") {
		t.Fatalf("ExecStart=%s", line)
	}
	d.start(words[i+1:]...)
	within(t, time.Minute, "run that waits again", func() bool { return goesOn.info().Status == "waiting" })
	goesOn.answer(d, other)
	within(t, time.Minute, "end of the run", func() bool { return goesOn.info().ended() })
	if info := goesOn.info(); info.Status != "completed" || goesOn.ran() != "it" || left.ran() != "it" {
		t.Errorf("resumed, the run is %v, ran %q; the other %q", info, goesOn.ran(), left.ran())
	}
}

// A daemon that is stopped while its store is unavailable ends, and its runs can be continued.
func TestDaemonEndsDuringOutage(t *testing.T) {
	takesLong(t)
	store := newPlace(t, "postgres")
	for _, f := range []fault{refuse, hang, halfOpen} {
		t.Run(string(f), func(t *testing.T) {
			p, url := newProxy(t, store)
			d := newDaemonEnv(t, url, "--drain", "2s")
			waits := d.run("waits", asksOnce, "default")
			question := waits.asked(1)[0]
			works := d.run("busy", busyPlay(10_000), "bypassPermissions")
			works.awaitLines(5)
			p.set(f)
			d.awaitNotReady("it is unreachable")
			d.terminate()
			p.set(none)
			d.start()
			waits.answer(d, question)
			if info, _ := waits.awaitEnd(time.Minute); info.Status != "completed" || waits.ran() != "it" {
				t.Errorf("the run that waited is %v, ran %q", info, waits.ran())
			}
			if info := works.info(); info.Status != "interrupted" {
				t.Errorf("the run that worked is %v", info)
			}
			d.terminate()
		})
	}
}

// A run whose store is unavailable for longer than its timeout is interrupted with the reason and
// can be continued. If the store stored the start of a command but its answer was lost in the
// outage, the run cannot know, and does not run the command, then or later. The model is told.
func TestOutageLongerThanTimeout(t *testing.T) {
	takesLong(t)
	store := newPlace(t, "postgres")
	for _, f := range []fault{refuse, loseStart} {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel() // it waits, most of the time
			p, url := newProxy(t, store)
			d := newDaemonEnv(t, url, "--store-wait", "3s")
			works := d.run("busy", busyPlay(60), "bypassPermissions")
			works.awaitLines(5)
			p.set(f)
			d.awaitNotReady("it is unreachable")
			within(t, time.Minute, "run that gave up", func() bool { return strings.Contains(d.output.String(), "cannot record the end of a run") })
			p.set(none)
			d.awaitReady(time.Minute)
			info, interrupted := works.awaitEnd(time.Minute)
			ran, unknown := strings.Fields(works.ran()), works.unknown()
			missing := slices.DeleteFunc(strings.Fields(expectedLines(60)), func(n string) bool { return slices.Contains(ran, n) })
			if info.Status != "completed" || len(ran)+len(missing) != 60 || len(missing) > 1 || f == loseStart && len(missing) != 1 {
				t.Errorf("continued, the run is %v, ran %q", info, ran)
			}
			for _, n := range missing {
				if len(unknown) != 1 || !strings.Contains(unknown[0], appendLineCommand(n)) {
					t.Errorf("%s did not run, and the model was told of %q", n, unknown)
				}
			}
			t.Logf("%s; missing %q, outcome unknown %q", interrupted, missing, unknown)
			works.checkLog()
			d.terminate()
			d.verify(store)
		})
	}
}
