//go:build linux

package crashtest

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// Daemons whose database is unavailable for a while, or whose connections to it are reset in
// the middle of requests or answers, while runs wait, call a model, run a tool and append.
//
//	daemon A ─► proxy ─┐      A has the runs, B has clients that follow one of them
//	                   ├─► PostgreSQL, MySQL, Redis, S3
//	daemon B ─► proxy ─┘
//
// Waiting runs keep waiting; no request is answered by the program; running ones continue, or
// are interrupted with the reason and can be continued; every command runs once; answers given
// meanwhile are refused for now; /readyz reports the outage; every client receives everything.
// HOLDFAST_HEAVY=1 tries every fault on every store, for 5, 15, 30 and 120 s; otherwise each
// fault is tried on some store.
func TestStoreOutage(t *testing.T) {
	takesLong(t)
	type trial struct {
		store string
		fault fault
	}
	trials := []trial{{"postgres", halfOpen}, {"postgres", refuse}, {"mysql", resetAnswer}, {"redis", hang}, {"s3", resetRequest}}
	outages := []time.Duration{5 * time.Second}
	if os.Getenv("HOLDFAST_HEAVY") == "1" {
		outages = []time.Duration{5 * time.Second, 15 * time.Second, 30 * time.Second, 120 * time.Second}
		trials = nil
		for _, store := range Servers {
			for _, f := range []fault{refuse, hang, halfOpen, resetRequest, resetAnswer} {
				trials = append(trials, trial{store, f})
			}
		}
	}
	for _, d := range outages {
		for _, tt := range trials {
			t.Run(fmt.Sprint(tt.store, "/", tt.fault, "/", d), func(t *testing.T) {
				t.Parallel()
				outage(t, tt.store, tt.fault, d)
			})
		}
	}
}

const leaseEnds = 12 * time.Second // a holder ends its tools 22.5 s after it has renewed last, which may be 10 s ago

func outage(t *testing.T, kind string, f fault, d time.Duration) {
	store := newPlace(t, kind)
	toA, urlA := newProxy(t, store)
	toB, urlB := newProxy(t, store)
	a, b := newDaemonEnv(t, urlA), newDaemonEnv(t, urlB)

	waits := a.run("waits", asksOnce, "default")
	pair := a.run("pair", asksOnce, "default", "left", "right")
	question, both := waits.asked(1)[0], pair.asked(2)
	model := a.run("model", "steps:\n  - text: It takes its time.\n    chunk: 1\n    delay: {before: 2s, chunk: 100ms}\n"+
		"    tool_uses: [{tool: Bash, input: {command: \""+appendLineCommand("it")+"\"}}]\n  - text: done\n", "bypassPermissions")
	tool := a.run("tool", "steps:\n  - tool_uses: [{tool: Bash, input: {command: \""+appendLineCommand("begun")+"; sleep 3; "+appendLineCommand("it")+"\"}}]\n  - text: done\n", "bypassPermissions")
	long := a.run("long", fmt.Sprintf("steps:\n  - tool_uses: [{tool: Bash, input: {command: %q}}]\n  - text: done\n",
		fmt.Sprintf("%s; sleep %d; %s", appendLineCommand("begun"), int(d.Seconds())+10, appendLineCommand("it"))), "bypassPermissions")
	const turns = 120
	works := a.run("busy", busyPlay(turns), "bypassPermissions")
	for _, r := range []*faultRun{waits, pair, model, tool, long, works} {
		r.follow(a)
	}
	waits.follow(b)
	works.follow(b)
	tool.awaitLines(1)
	long.awaitLines(1)
	works.awaitLines(5)

	back := time.Now().Add(d)
	toA.set(f)
	toB.set(f)
	if f.away() {
		a.awaitNotReady("it is unreachable")
		stop := a.readiness()
		var wg sync.WaitGroup
		wg.Go(func() { a.refused(503, "unavailable", decisionOf(question), map[string]string{"decision": "allow"}) })
		wg.Go(func() { b.refused(503, "unavailable", decisionOf(question), map[string]string{"decision": "allow"}) })
		wg.Go(func() {
			a.refused(503, "unavailable", "/v1/runs", map[string]string{"cwd": waits.dir, "input": "x", "model": "scripted/" + waits.dir + "/play.yaml"})
		})
		wg.Wait()
		time.Sleep(time.Until(back))
		if longest, ready := stop(); longest > 4*time.Second || ready > 0 { // 2 s, and what a busy machine takes
			t.Errorf("while the store was away /readyz took up to %v and was ready %d times", longest, ready)
		}
		for _, c := range waits.clients {
			if n := c.connections(); d >= 30*time.Second && n < 2 { // about 10 s, and what a busy machine takes
				t.Errorf("%s: the stream did not end", c.name)
			}
		}
	}
	time.Sleep(time.Until(back))
	toA.set(none)
	toB.set(none)
	a.awaitReady(time.Minute)
	b.awaitReady(time.Minute)
	begun := time.Now()
	t.Logf("ready %v after the store was back", begun.Sub(back).Round(time.Millisecond))

	for _, r := range []*faultRun{waits, pair} {
		if info := r.info(); info.Status != "waiting" {
			t.Errorf("%s is %v after the outage", r.id, info)
		}
	}
	waits.answer(a, question)
	pair.answer(a, both[0])
	pair.answer(b, both[1])
	for _, tt := range []struct {
		r    *faultRun
		want string
	}{{waits, "it"}, {pair, "it it"}, {model, "it"}, {tool, "begun it"}, {long, "begun it"}, {works, expectedLines(turns)}} {
		info, interrupted := tt.r.awaitEnd(2*time.Minute + d)
		t.Logf("%s: %v, %v later", tt.r.id, info, time.Since(begun).Round(time.Millisecond))
		if info.Status != "completed" {
			t.Errorf("%s is %v", tt.r.id, info)
		}
		if interrupted != "" {
			t.Logf("%s was interrupted: %s", tt.r.id, interrupted)
			if !strings.Contains(interrupted, "store") && !strings.Contains(interrupted, "lease") {
				t.Errorf("%s was interrupted: %s", tt.r.id, interrupted)
			}
		}
		// A command that was running when the lease could not be renewed was ended.
		if ran := tt.r.ran(); ran != tt.want && (d < leaseEnds || tt.r != long || ran != "begun") {
			t.Errorf("%s: ran %q, want %q", tt.r.id, ran, tt.want)
		}
		tt.r.checkLog()
		tt.r.checkReceived()
	}
	a.terminate()
	b.terminate()
	a.verify(store)
}

// busyPlay runs so many short commands, one after the other.
func busyPlay(turns int) string {
	var b strings.Builder
	b.WriteString("delay: {before: 20ms}\nsteps:\n")
	for n := range turns {
		fmt.Fprintf(&b, "  - tool_uses: [{tool: Bash, input: {command: %q}}]\n", appendLineCommand(fmt.Sprint(n)))
	}
	return b.String() + "  - text: done\n"
}

// expectedLines is what they leave.
func expectedLines(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = fmt.Sprint(i)
	}
	return strings.Join(words, " ")
}
