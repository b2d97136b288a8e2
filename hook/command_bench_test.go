package hook

import (
	"bytes"
	"context"
	"os/exec"
	"slices"
	"testing"
	"time"
)

// BenchmarkCommand compares a command hook with the bare start of the same shell:
// os/exec, with a pipe for each stream. The two take turns, so that what else the
// machine does troubles both; the metrics are the medians' ratio and the minima's. A
// hook of no sandbox is kept together by a pid namespace, or by its process group
// where there is none.
func BenchmarkCommand(b *testing.B) {
	for _, bb := range []struct {
		name   string
		access string
		group  bool
	}{{"group", sandboxOff, true}, {"off", sandboxOff, false}, {"read", sandboxRead, false}, {"write", sandboxWrite, false}} {
		for _, script := range []string{"exit 0", "cat >/dev/null; echo '{}'"} {
			b.Run(bb.name+"/"+script, func(b *testing.B) {
				f := newFixture(b, nil)
				f.opened = bb.group
				benchmarkCommand(b, f, Definition{Event: PreToolUse, Sandbox: bb.access, Command: script})
			})
		}
	}
}

func benchmarkCommand(b *testing.B, f *fixture, d Definition) {
	in := Input{Event: PreToolUse, Tool: ToolCall{Name: "Bash", Input: []byte(`{"command":"ls -l"}`)}, SessionID: "s1", CWD: f.dir}
	text, err := in.wire(dialectClaude)
	if err != nil {
		b.Fatal(err)
	}
	var bare, hook []time.Duration
	for b.Loop() {
		began := time.Now()
		cmd := exec.Command(shellPath, "-c", d.Command)
		var out, errs bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = bytes.NewReader(text), &out, &errs, f.dir
		if err := cmd.Run(); err != nil {
			b.Fatal(err, errs.String())
		}
		bare = append(bare, time.Since(began))
		began = time.Now()
		if answer, err := f.Run(context.Background(), &d, &in); err != nil || answer.Notice != "" {
			b.Fatal(answer, err)
		}
		hook = append(hook, time.Since(began))
	}
	slices.Sort(bare)
	slices.Sort(hook)
	middle := len(bare) / 2
	b.ReportMetric(float64(bare[middle].Microseconds()), "bare-µs")
	b.ReportMetric(float64(hook[middle].Microseconds()), "hook-µs")
	b.ReportMetric(float64(hook[middle])/float64(bare[middle]), "medians")
	b.ReportMetric(float64(hook[0])/float64(bare[0]), "minima")
}
