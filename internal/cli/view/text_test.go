package view

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// screen is one terminal that both streams write to.
func screen(t *testing.T, tty bool) (*command.Program, *bytes.Buffer) {
	t.Helper()
	var b bytes.Buffer
	p := &command.Program{}
	p.SetDefaults()
	style := term.Style{TTY: tty, Width: 60}
	p.Out, p.Err = term.NewPrinter(&b, style), term.NewPrinter(&b, style)
	p.Err.Share(p.Out)
	return p, &b
}

func assistantItem(id, text string) event.ItemAppended {
	return event.ItemAppended{Item: transcript.Item{
		ID: id, Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: text}},
	}.MustEncode()}
}

// exited returns the end event of a Bash call.
func exited(use string, code int, took int64) event.ToolFinished {
	return event.ToolFinished{
		Use: use, Tool: "Bash", Content: []transcript.Part{transcript.Text{Text: "line 1\nline 2\x1b[2J"}},
		ExitCode: &code, IsError: code != 0, Millis: took,
	}
}

var errNetwork = &model.Error{Kind: model.ErrorNetwork, Provider: "anthropic", Message: "gone"}

func TestTextView(t *testing.T) {
	for _, tt := range []struct {
		name           string
		tty            bool
		quiet, verbose bool
		events         []event.Event
		want           string
	}{
		{"an answer as it comes", true, true, false, []event.Event{
			event.TextDelta{Text: "hel"}, event.TextDelta{Text: "lo\x1b"}, assistantItem("1", "hello\x1b"),
		}, "hello\\x1b\n"},
		{"a pipe gets what is durable", false, false, false, []event.Event{
			event.TextDelta{Text: "hel"}, event.ModelRetrying{Err: errNetwork, Delay: time.Second}, event.TextDelta{Text: "hello"}, assistantItem("1", "hello"),
		}, "· anthropic: network: gone; retrying in 1.0 s\nhello\n"},
		{"a terminal shows that text is discarded", true, false, false, []event.Event{
			event.TextDelta{Text: "hel"}, event.ModelRetrying{Err: errNetwork, Delay: time.Second}, event.TextDelta{Text: "hello"}, assistantItem("1", "hello"),
		}, "hel\n· the text above is discarded: the model's stream broke off\n· anthropic: network: gone; retrying in 1.0 s\n\nhello\n"},
		{"a model that does not stream", true, true, false, []event.Event{assistantItem("1", "hello")}, "hello\n"},
		{"what opening found", false, false, false, []event.Event{
			event.SessionOpened{ID: "s", Items: 1, Notices: []string{"turn-1 was interrupted\x07"}, Recovery: &session.Recovery{CutBytes: 7, TailFile: "torn.bin"}},
		}, "· resuming session s, 1 item\n· turn-1 was interrupted\\x07\n· cut an incomplete record of 7 bytes off the log and saved it in torn.bin\n"},
		{"a fork", false, false, false, []event.Event{event.SessionOpened{ID: "b", Forked: "a"}}, "· forked a, continuing in b\n"},
		{"a tool that fails", false, false, false, []event.Event{
			event.ToolStarted{Use: "u", Tool: "Bash", Input: json.RawMessage(`{"command":"make\ntest"}`)},
			exited("u", 2, 1500),
		}, "● Bash  make test\n  └ exit 2  1.5 s\n    line 1\n    line 2\\x1b[2J\n"},
		{"calls that never ran", false, false, false, []event.Event{
			event.ItemAppended{Item: transcript.Item{ID: "1", Role: transcript.RoleAssistant, Finish: transcript.FinishToolUse, Parts: []transcript.Part{
				transcript.ToolUse{ID: "u", Name: "Bsh", Input: json.RawMessage(`{"command":"make"}`)}, transcript.ToolUse{ID: "w", Name: "Bash", Input: json.RawMessage(`{"command":"make"}`)},
			}}.MustEncode()},
			event.ToolStarted{Use: "w", Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`)},
			exited("w", 0, 0),
			event.ItemAppended{Item: transcript.Item{ID: "2", Role: transcript.RoleTool, Parts: []transcript.Part{
				transcript.ToolResult{UseID: "u", IsError: true, Content: []transcript.Part{transcript.Text{Text: "tool not found: Bsh"}}},
				transcript.ToolResult{UseID: "w", IsError: true},
			}}.MustEncode()},
		}, "● Bash  make\n  └ ok  0 ms\n● Bsh  make\n  └ error\n    tool not found: Bsh\n"},
		{"a structured result", false, false, true, []event.Event{
			event.ToolStarted{Use: "u", Tool: "mcp__weather__now"},
			event.ToolFinished{Use: "u", Tool: "mcp__weather__now", Content: []transcript.Part{transcript.Structured{Value: []byte(`{"degrees":21}`)}}},
		}, "● mcp__weather__now\n  └ ok  0 ms\n    {\"degrees\":21}\n"},
		{"a call that continues in the background, and one that was not run", false, false, false, []event.Event{
			event.ToolStarted{Use: "u", Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`)},
			event.ItemAppended{Item: transcript.Item{ID: "2", Role: transcript.RoleTool, Parts: []transcript.Part{transcript.ToolResult{UseID: "u"}}}.MustEncode()},
			event.ToolStarted{Use: "v", Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`)},
			event.ToolFinished{Use: "v", Tool: "Bash", IsError: true, Outcome: "not-run"},
		}, "● Bash  make\n  └ continues in the background\n● Bash  ls\n  └ not run  0 ms\n"},
		{"a call that never ran, with a long message", false, false, true, []event.Event{
			event.ItemAppended{Item: transcript.Item{ID: "1", Role: transcript.RoleAssistant, Finish: transcript.FinishToolUse, Parts: []transcript.Part{
				transcript.ToolUse{ID: "u", Name: "Bsh", Input: json.RawMessage(`{}`)},
			}}.MustEncode()},
			event.ItemAppended{Item: transcript.Item{ID: "2", Role: transcript.RoleTool, Parts: []transcript.Part{
				transcript.ToolResult{UseID: "u", IsError: true, Content: []transcript.Part{transcript.Text{Text: strings.Repeat("no\n", 9)}}},
			}}.MustEncode()},
		}, "● Bsh\n  └ error\n" + strings.Repeat("    no\n", 9)},
		{"a tool that works", false, false, false, []event.Event{
			event.ToolStarted{Use: "u", Tool: "Bash", Input: json.RawMessage(`{}`)},
			exited("u", 0, 0),
		}, "● Bash\n  └ ok  0 ms\n"},
		{"verbose", false, false, true, []event.Event{
			event.ThinkingDelta{Text: "so"},
			event.ThinkingDelta{Text: "\x1b"},
			assistantItem("1", "hi"),
			event.ToolStarted{Use: "u", Tool: "Bash", Input: json.RawMessage(`{}`)},
			exited("u", 0, 0),
		}, "so\\x1b\nhi\n● Bash\n  └ ok  0 ms\n    line 1\n    line 2\\x1b[2J\n"},
		{"quiet", false, true, false, []event.Event{
			event.SessionOpened{ID: "s"},
			event.ThinkingDelta{Text: "so"},
			event.ToolStarted{Use: "u", Tool: "Bash", Input: json.RawMessage(`{}`)},
			exited("u", 1, 0),
			event.Notice{Text: "n"},
			assistantItem("1", "hi"),
			event.Result{SessionID: "s", Reason: event.ReasonCompleted},
		}, "hi\n"},
		{"side by side", false, false, false, []event.Event{
			event.ToolStarted{Use: "a", Tool: "Read", Input: json.RawMessage(`{"file_path":"/w/a"}`)},
			event.ToolStarted{Use: "b", Tool: "Read", Input: json.RawMessage(`{"file_path":"/w/b"}`)},
			event.ToolFinished{Use: "b", Tool: "Read"},
			event.ToolFinished{Use: "a", Tool: "Read"},
		}, "● Read  a\n● Read  b\n  └ Read b: ok  0 ms\n  └ Read a: ok  0 ms\n"},
		{"changes of course", false, false, false, []event.Event{
			event.ModelSwitched{From: "a", To: "b", Err: errors.New("away")},
			event.CompactionStarted{Trigger: "auto"},
			event.TranscriptRewritten{Mutator: "compaction", Before: 9, After: 2, Trigger: "auto", TokensBefore: 900, TokensAfter: 80},
			event.TranscriptRewritten{Mutator: "tidy", Before: 9, After: 2},
			event.DecisionMade{Decision: policy.Decision{Tool: "Bash", Effect: policy.Deny, By: "nobody", Reason: "no\nline"}},
			event.DecisionMade{Decision: policy.Decision{Tool: "Bash", Effect: policy.Allow}},
		}, "· a is unavailable (away); switching to b\n· the transcript was compacted: 9 messages became 2, about 900 tokens became 80\n· the transcript was rewritten by tidy: 9 messages became 2\n  └ denied: Bash (no; line)\n"},
		{"a failure with a hint", false, true, false, []event.Event{
			event.Result{Reason: event.ReasonFailed, Err: errNetwork},
		}, "holdfast: anthropic: network: gone\nhint: check the connection: holdfast doctor --net\n"},
		{"the end", false, false, false, []event.Event{
			event.Result{SessionID: "s", Reason: event.ReasonCompleted, Turns: 2, Usage: transcript.Usage{Input: 5}, CostUSD: 0.5, Duration: time.Second},
		}, "session s · 2 model calls · 5 tokens · $0.50 · 1.0 s\nresume: holdfast run --store x -c \"…\"\n"},
		{"an end without an answer", false, false, false, []event.Event{
			event.SessionOpened{ID: "s", Created: true}, event.Result{SessionID: "s", Reason: event.ReasonFailed, Err: errNetwork, Duration: time.Second},
		}, "holdfast: anthropic: network: gone\nhint: check the connection: holdfast doctor --net\nsession s · 0 model calls · 0 tokens · 1.0 s\nresume: holdfast run --store x -r s \"…\"\n"},
		{"refused by the provider", false, true, false, []event.Event{event.Result{Reason: event.ReasonRefused}}, "holdfast: the provider refused to answer\n"},
		{"out of money", false, true, false, []event.Event{event.Result{Reason: event.ReasonBudget}}, "holdfast: the budget was reached (--max-budget-usd)\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, out := screen(t, tt.tty)
			v := &Text{Program: p, Quiet: tt.quiet, Verbose: tt.verbose}
			v.Start(Header{Cwd: "/w", Model: "m", CanResume: true, ResumeArgs: "--store x "})
			for _, e := range tt.events {
				if err := v.Render(e); err != nil {
					t.Fatal(err)
				}
			}
			p.Err.Stop()
			if got := out.String(); got != tt.want {
				t.Errorf("got\n%q\nwant\n%q", got, tt.want)
			}
		})
	}
}

func TestStreamEvents(t *testing.T) {
	p, out := screen(t, false)
	v := &Stream{Program: p, All: true, Partial: true}
	v.Start(Header{Mode: func() policy.Mode { return "default" }})
	for _, e := range []event.Event{
		event.SessionOpened{ID: "s", Notices: []string{"n"}},
		event.TextDelta{Text: "void"},
		event.ModelRetrying{Err: errNetwork, Attempt: 1, Delay: time.Second},
		event.TextDelta{Text: "a"},
		event.ThinkingDelta{Text: "b"},
		event.TextDelta{Text: "c"},
		assistantItem("1", "c"),
		event.ModelSwitched{From: "a", To: "b", Err: errNetwork},
		event.CompactionStarted{Trigger: "auto"},
		event.TranscriptRewritten{Mutator: "compaction", Before: 9, After: 2, Trigger: "auto", TokensBefore: 900, TokensAfter: 80},
		event.TranscriptRewritten{Mutator: "tidy", Before: 9, After: 2},
		event.Notice{Text: "n2"},
		event.Result{Reason: event.ReasonFailed, Err: errNetwork},
	} {
		if err := v.Render(e); err != nil {
			t.Fatal(err)
		}
	}
	var kinds []string
	for line := range strings.Lines(out.String()) {
		var e struct {
			Type, Subtype string
			Event         struct{ Type string }
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		kinds = append(kinds, strings.Trim(e.Type+" "+e.Subtype+" "+e.Event.Type, " "))
	}
	want := `system init
system informational
stream_event  message_start
stream_event  content_block_start
stream_event  content_block_delta
system api_retry
stream_event  message_start
stream_event  content_block_start
stream_event  content_block_delta
stream_event  content_block_stop
stream_event  content_block_start
stream_event  content_block_delta
stream_event  content_block_stop
stream_event  content_block_start
stream_event  content_block_delta
stream_event  content_block_stop
stream_event  message_delta
stream_event  message_stop
assistant
system model_switched
system status
system compact_boundary
system transcript_rewritten
system informational
result error_during_execution`
	if got := strings.Join(kinds, "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(out.String(), `"hint":"check the connection: holdfast doctor --net"`) {
		t.Error("the result has no hint")
	}
}
