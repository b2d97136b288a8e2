package agent_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

// writer is a tool that writes these pieces, one each interval.
func writer(interval time.Duration, pieces ...string) tool.Tool {
	return probe{name: "Write", run: func(_ context.Context, c *tool.Call) (tool.Result, error) {
		for _, p := range pieces {
			time.Sleep(interval)
			if _, err := c.Output.Write([]byte(p)); err != nil {
				return tool.Result{}, err
			}
		}
		time.Sleep(time.Second)
		return tool.Text("done"), nil
	}}
}

// outputOf returns the output that is reported while one call of a tool runs.
func outputOf(t *testing.T, w tool.Tool) (pieces []string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := play(t, step{uses: []transcript.ToolUse{use("c1", "Write", `{}`)}}, step{text: "ok"})
		a := newAgent(t, m, agent.Options{Tools: registry(t, w)})
		ended := false
		for _, e := range events(t, a, "go") {
			switch e := e.(type) {
			case event.ToolOutputDelta:
				if pieces = append(pieces, e.Text); e.Use != "c1" || ended {
					t.Errorf("%+v, after the end of the call: %v", e, ended)
				}
			case event.ToolFinished:
				ended = true
			}
		}
	})
	return pieces
}

func TestToolOutput(t *testing.T) {
	for _, tt := range []struct {
		name     string
		interval time.Duration
		written  []string
		want     string // the pieces, joined with |
	}{
		{"nothing", time.Millisecond, nil, ""},
		{"slow", 200 * time.Millisecond, []string{"a\n", "b\n"}, "a\n|b\n"},
		{"merged", 12 * time.Millisecond, []string{"a", "b", "c", "d", "e", "f"}, "abcd|ef"},
		{"split character", 200 * time.Millisecond, []string{"a\xe2\x82", "\xacb"}, "a|€b"},
		{"broken character", 200 * time.Millisecond, []string{"a\xff\xe2(", "b"}, "a\uFFFD(|b"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := strings.Join(outputOf(t, writer(tt.interval, tt.written...)), "|"); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// Of fast output only the newest part is reported, about 20 times a second.
func TestFastToolOutput(t *testing.T) {
	var lines []string
	for i := range 2000 {
		lines = append(lines, fmt.Sprintf("%06d%s\n", i, strings.Repeat("x", 8000)))
	}
	got := outputOf(t, writer(time.Millisecond, lines...))
	if len(got) < 30 || len(got) > 45 {
		t.Errorf("%d events in 2 seconds", len(got))
	}
	for _, p := range got {
		if len(p) > 64<<10 {
			t.Errorf("an event has %d bytes", len(p))
		}
	}
	if last := got[len(got)-1]; !strings.HasSuffix(last, lines[len(lines)-1]) {
		t.Errorf("the last event ends with %q", last[max(0, len(last)-20):])
	}
}

// BenchmarkToolOutput measures a call that writes 100 MB.
func BenchmarkToolOutput(b *testing.B) {
	chunk := bytes.Repeat([]byte("0123456789abcde\n"), 2<<10)
	w := probe{name: "Write", run: func(_ context.Context, c *tool.Call) (tool.Result, error) {
		for range 100 << 20 / len(chunk) {
			if _, err := c.Output.Write(chunk); err != nil {
				return tool.Result{}, err
			}
		}
		return tool.Text("done"), nil
	}}
	b.SetBytes(100 << 20)
	for b.Loop() {
		m := play(b, step{uses: []transcript.ToolUse{use("c1", "Write", `{}`)}}, step{text: "ok"})
		events(b, newAgent(b, m, agent.Options{Tools: registry(b, w)}), "go")
	}
}

// backgroundWriter is a writer whose calls continue in the background.
type backgroundWriter struct{ tool.Tool }

func (backgroundWriter) Detach(*tool.Call) time.Duration { return 0 }
func (backgroundWriter) Awaited(*tool.Call) bool         { return true }

// The output of background tasks and of the calls of sub-agents is reported, too.
func TestToolOutputOfOthers(t *testing.T) {
	reported := func(t *testing.T, list []event.Event) (text string) {
		ended := false
		for _, e := range list {
			if of, ok := e.(event.SubagentEvent); ok {
				e = of.Event
			}
			switch e := e.(type) {
			case event.ToolOutputDelta:
				if text += e.Text; e.Use != "c1" || ended {
					t.Errorf("%+v, after the end of the call: %v", e, ended)
				}
			case event.ToolFinished:
				ended = ended || e.Use == "c1"
			}
		}
		return text
	}
	work := func(t *testing.T, a *agent.Agent) (list []event.Event) {
		for e, err := range a.Work(t.Context(), transcript.Text{Text: "go"}) {
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, e)
		}
		return list
	}
	writes := step{uses: []transcript.ToolUse{use("c1", "Write", `{}`)}}
	t.Run("background", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			m := play(t, writes, step{text: "I wait"}, step{text: "ok"})
			a := newAgent(t, m, agent.Options{Tools: registry(t, backgroundWriter{writer(200*time.Millisecond, "a\n", "b\n")}), Background: &agent.Background{}})
			if got := reported(t, work(t, a)); got != "a\nb\n" {
				t.Errorf("%q", got)
			}
		})
	})
	t.Run("sub-agent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			scout := play(t, writes, step{text: "done"})
			h := newSubagentEnv(t, agent.Options{Tools: registry(t, writer(200*time.Millisecond, "a\n", "b\n"))},
				[]step{{uses: []transcript.ToolUse{delegate("d1", "scout", "go", "")}}, {text: "ok"}}, map[string]*fake{"scout": scout}, kind("scout"))
			got := reported(t, work(t, h.parent))
			if err := h.parent.Close(); err != nil || got != "a\nb\n" {
				t.Errorf("%q, %v", got, err)
			}
		})
	})
}
