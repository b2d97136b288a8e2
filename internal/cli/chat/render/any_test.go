package render

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/conversation"
	"github.com/holdfast-dev/holdfast/internal/markdown"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
	"github.com/holdfast-dev/holdfast/policy"
)

// hostile draws a text that can hurt a terminal or its measures.
func hostile(t *rapid.T, name string) string {
	part := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z ]{0,30}`), rapid.SampledFrom([]string{
		"\x1b[2J", "\x1b]0;t\x07", "\x1b]8;;http://x\x07", "\x9b2J", "\u202e", "\u2066", "\r", "\n", "\n\n", "\t", "👩‍👩‍👧", "🇩🇪🇩", "\ufe0f", "e\u0301", "漢字", "שלום", "\u200d", "\x00", "\xff",
		"```go\nx\n```", "| a | b |\n|---|---|\n| c | d |\n", "@@ -1 +1 @@\n-a\n+b\n", strings.Repeat("x", 300), "[l](http://x/\x1b)",
	}))
	return strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, name), "")
}

func anyBlock(t *rapid.T) *conversation.Block {
	text := func(name string) string { return hostile(t, name) }
	input, _ := json.Marshal(map[string]any{"command": text("command"), text("key"): text("value"), "n": 1})
	if rapid.Bool().Draw(t, "raw input") {
		input = []byte(text("input"))
	}
	exit := rapid.IntRange(0, 2).Draw(t, "exit")
	flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
	return &conversation.Block{
		Kind: conversation.Kind(rapid.IntRange(0, 6).Draw(t, "kind")), Text: text("text"), By: text("by"), Warning: flag("warning"),
		Call: &conversation.Call{
			Tool: rapid.SampledFrom([]string{"Bash", "Read", "Edit", text("tool")}).Draw(t, "tool"), Input: input, Output: text("output"), IsError: flag("error"), ExitCode: &exit,
			Denied: text("denied"), Unknown: flag("unknown"), Took: time.Duration(rapid.Int64Range(0, 1e13).Draw(t, "took")), Diff: text("diff"), Notes: []string{text("note")}, Background: flag("bg"),
		},
		Request: &approval.Request{Tool: text("asked"), Agent: "a", Asker: text("asker"), Requests: []policy.Request{{Resource: text("resource")}}},
		Reply:   &approval.Answer{Decision: rapid.SampledFrom([]approval.Decision{approval.Allow, approval.DenySession}).Draw(t, "decision"), Actor: text("actor"), Via: text("via"), Scope: text("scope"), Message: text("message")},
		Result:  &event.Result{Reason: rapid.SampledFrom([]event.Reason{event.ReasonCompleted, event.ReasonFailed, event.ReasonInterrupted}).Draw(t, "reason"), Err: errors.New(text("err")), Turns: 3, CostUSD: 1},
	}
}

func anyState(t *rapid.T) *conversation.State {
	text := func(name string) string { return hostile(t, name) }
	s := &conversation.State{Session: "s", Working: rapid.Bool().Draw(t, "working"), Since: start, Doing: text("doing")}
	if rapid.Bool().Draw(t, "lost") {
		s.Lost = errors.New(text("lost"))
	}
	for range rapid.IntRange(0, 3).Draw(t, "calls") {
		s.Calls = append(s.Calls, &conversation.Call{Tool: text("tool"), Input: []byte(`{"command":"x"}`), Output: text("output"), Started: start})
	}
	session := rapid.SampledFrom([]string{"s", "a", "b", "c", ""})
	for range rapid.IntRange(0, 5).Draw(t, "agents") {
		s.Agents = append(s.Agents, &conversation.Agent{
			Session: session.Draw(t, "session"), Parent: session.Draw(t, "parent"), Name: text("name"), Doing: text("doing"), Ended: rapid.Bool().Draw(t, "ended"), Calls: 2, Tokens: 5000, Started: start,
		})
	}
	for range rapid.IntRange(0, 9).Draw(t, "tasks") {
		s.Tasks = append(s.Tasks, conversation.Task{Text: text("task"), Status: rapid.SampledFrom([]string{"pending", "in_progress", "completed", ""}).Draw(t, "status")})
	}
	for range rapid.IntRange(0, 6).Draw(t, "queue") {
		s.Queue = append(s.Queue, conversation.Queued{Text: text("queued"), By: text("by")})
	}
	return s
}

func anyRenderer(t *rapid.T) *Renderer {
	flag := func(name string) bool { return rapid.Bool().Draw(t, name) }
	return &Renderer{
		Style: markdown.Style(rapid.IntRange(0, 3).Draw(t, "style")), Light: flag("light"), Hyperlinks: flag("links"), ASCII: flag("ascii"), Plain: flag("plain"), Cwd: "/w",
	}
}

// checkLines reports a line that is too wide or has a control sequence that is not a color or a link.
func checkLines(t *rapid.T, r *Renderer, lines []string, width int) {
	for _, l := range lines {
		if n := paint.Width(l); n > max(width, minWidth) {
			t.Fatalf("%d columns of %d: %q", n, width, l)
		}
		rest := l
		for rest != "" {
			i := strings.IndexByte(rest, '\x1b')
			if i < 0 {
				i = len(rest)
			}
			if strings.ContainsFunc(rest[:i], func(r rune) bool { return unicode.IsControl(r) || r == '\u202e' || r == '\u2066' }) {
				t.Fatalf("a control character: %q", l)
			}
			if rest = rest[i:]; rest == "" {
				break
			}
			switch {
			case r.Plain || r.Style == markdown.Plain:
				t.Fatalf("an escape sequence without colors: %q", l)
			case strings.HasPrefix(rest, "\x1b]8;"):
				end := strings.IndexAny(rest[1:], "\a\x1b")
				if end < 0 || !r.Hyperlinks {
					t.Fatalf("a link: %q", l)
				}
				rest = strings.TrimPrefix(strings.TrimPrefix(rest[1+end:], "\a"), "\x1b\\")
			default:
				codes, after, ok := strings.Cut(strings.TrimPrefix(rest, "\x1b["), "m")
				if !ok || strings.Trim(codes, "0123456789;") != "" {
					t.Fatalf("an escape sequence: %q", l)
				}
				rest = after
			}
		}
	}
}

func TestAnyBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, b, width := anyRenderer(t), anyBlock(t), rapid.IntRange(20, 130).Draw(t, "width")
		checkLines(t, r, r.Block(b, width), width)
		checkLines(t, r, r.Full(b, width), width)
		r.Gap(b, b)
	})
}

func TestAnyState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, s := anyRenderer(t), anyState(t)
		width, height := rapid.IntRange(20, 130).Draw(t, "width"), rapid.IntRange(0, 30).Draw(t, "height")
		lines := r.Live(s, width, height, start.Add(time.Duration(rapid.Int64Range(-1e10, 1e14).Draw(t, "now"))))
		if len(lines) > height {
			t.Fatalf("%d lines, %d are allowed:\n%s", len(lines), height, strings.Join(lines, "\n"))
		}
		checkLines(t, r, lines, width)
	})
}

func TestAnyAround(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r, width := anyRenderer(t), rapid.IntRange(20, 130).Draw(t, "width")
		n := func(name string) int { return rapid.IntRange(-10, 1_000_000).Draw(t, name) }
		line := r.Status(Status{
			Model: hostile(t, "model"), Mode: hostile(t, "mode"), Context: n("used"), Window: n("window"), CostUSD: 3, DayUSD: 4, Sandbox: hostile(t, "sandbox"), Branch: hostile(t, "branch"),
			Queue: n("queue"), Questions: n("questions"),
		}, width)
		var parts []Part
		for range rapid.IntRange(0, 30).Draw(t, "parts") {
			parts = append(parts, Part{hostile(t, "name"), n("tokens")})
		}
		lines := append(r.Context(parts, n("counted"), n("window"), width), line)
		lines = append(lines, r.Banner(&Start{Version: hostile(t, "version"), Cwd: hostile(t, "cwd"), Model: hostile(t, "model"), Hints: []string{hostile(t, "hint")}}, width)...)
		checkLines(t, r, lines, width)
	})
}
