package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/cli/view"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/policy"
)

// checkText compares the terminal's text for each event with the event.
func (s *observed) checkText(t *testing.T) {
	t.Helper()
	for _, tty := range []bool{false, true} {
		p, b := newViewer(t, tty)
		v := &view.Text{Program: p, Verbose: true}
		v.Start(view.Header{Model: "m", Mode: func() policy.Mode { return policy.ModeDefault }})
		run := running{}
		for _, e := range s.events {
			b.Reset()
			if err := v.Render(e); err != nil {
				t.Fatal(err)
			}
			shown, of := b.String(), shownBy()[e.Type()]
			remaining := shown
			var want []string
			if of.text != nil {
				want = of.text(e)
			}
			switch e.(type) {
			case event.TextDelta:
				if !tty { // a pipe gets the answer when it is durable
					want = nil
				}
			case event.ItemAppended:
				if tty { // the deltas have shown it
					want = nil
				}
			}
			for range run.detached(e) {
				want = append(want, "continues in the background")
			}
			for _, mark := range want {
				_, rest, ok := strings.Cut(remaining, strings.TrimLeft(mark, "\n"))
				if !ok {
					t.Errorf("terminal %v: %s shows %q, which lacks %q", tty, e.Type(), shown, mark)
				}
				remaining = rest
			}
			if of.noText != "" && strings.TrimSpace(shown) != "" {
				t.Errorf("terminal %v: %s shows %q, and is left out because %s", tty, e.Type(), shown, of.noText)
			}
		}
	}
}

// checkStream compares the stream-json lines of each event with the event.
func (s *observed) checkStream(t *testing.T) {
	t.Helper()
	p, b := newViewer(t, false)
	var denied []string
	v := &view.Stream{Program: p, All: true, Partial: true, StartedAt: p.Clock(), SessionID: "s"} // late subscribers do not get it
	v.Start(view.Header{Model: "m", Mode: func() policy.Mode { return policy.ModeDefault }})
	run := running{}
	for _, e := range s.events {
		b.Reset()
		if err := v.Render(e); err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, use := range run.detached(e) {
			want = append(want, "system/task_started "+js(map[string]any{"task_id": use, "tool_name": run[use], "tool_use_id": use}))
		}
		if of := shownBy()[e.Type()].stream; of != nil {
			want = append(want, of(e)...)
		}
		switch e := inmost(e).(type) {
		case event.DecisionMade:
			if e.Decision.Effect == policy.Deny {
				denied = append(denied, e.Decision.Use)
			}
		case event.Result:
			if len(want) > 0 { // it also lists calls denied to sub-agents
				want[0] += fmt.Sprint(" ", denied)
			}
		}
		if diff := cmp.Diff(want, streamed(t, b)); diff != "" {
			t.Errorf("%s -, its lines +:\n%s", e.Type(), diff)
		}
	}
}

// inmost returns an event, or the sub-agent's event in it.
func inmost(e event.Event) event.Event {
	for {
		sub, ok := e.(event.SubagentEvent)
		if !ok {
			return e
		}
		e = sub.Event
	}
}

// streamed returns lines of a stream as data, without the frames of deltas.
func streamed(t *testing.T, b *bytes.Buffer) (list []string) {
	t.Helper()
	for line := range strings.Lines(b.String()) {
		var m struct {
			Type, Subtype string
			SessionID     string   `json:"session_id"`
			Tools         []string `json:"tools"`
			Created       bool
			Forked        string `json:"forked_from"`
			ItemID        string `json:"item_id"`
			Seq           int64
			Parent        *string `json:"parent_tool_use_id"`
			Message       struct{ Content []streamBlock }
			Event         struct {
				Type  string
				Delta struct{ Type, Text, Thinking, Partial string }
			}
			HookEvent string `json:"hook_event"`
			Hook      string
			Use       string `json:"tool_use_id"`
			Reason    string `json:"terminal_reason"`
			Turns     int    `json:"num_turns"`
			Cost      float64
			Denials   []struct {
				Use string `json:"tool_use_id"`
			} `json:"permission_denials"`
		}
		line = strings.NewReplacer(`"partial_json"`, `"partial"`, `"total_cost_usd"`, `"cost"`).Replace(line)
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		switch {
		case m.Subtype == "init":
			list = append(list, fmt.Sprintf("init %s %v %q %v", m.SessionID, m.Created, m.Forked, m.Tools))
		case m.Subtype == "hook_response":
			list = append(list, "hook "+m.HookEvent+" "+m.Use+" "+m.Hook)
		case m.Type == "system":
			var rest map[string]any
			if err := json.Unmarshal([]byte(line), &rest); err != nil {
				t.Fatal(err)
			}
			for _, name := range []string{"type", "subtype", "session_id", "uuid"} {
				delete(rest, name)
			}
			list = append(list, "system/"+m.Subtype+" "+js(rest))
		case m.Type == "stream_event" && m.Event.Type == "content_block_delta":
			d := m.Event.Delta
			kind := map[string]string{"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "input"}[d.Type]
			list = append(list, "delta "+kind+" "+js(d.Text+d.Thinking+d.Partial))
		case m.Type == "stream_event":
		case m.Type == "result":
			var denied []string
			for _, d := range m.Denials {
				denied = append(denied, d.Use)
			}
			list = append(list, fmt.Sprintf("result %s %s %d %g %v", m.SessionID, m.Reason, m.Turns, m.Cost, denied))
		default:
			text := fmt.Sprintf("%s %s %d %v", m.Type, m.ItemID, m.Seq, blocks(m.Message.Content))
			if m.Parent != nil {
				text += " of " + *m.Parent
			}
			list = append(list, text)
		}
	}
	return list
}

// streamBlock is a content block.
type streamBlock struct {
	Type, Text, Thinking, ID, Name string
	Input                          json.RawMessage
	Use                            string `json:"tool_use_id"`
	IsError                        bool   `json:"is_error"`
	Content                        []streamBlock
}

func blocks(list []streamBlock) (lines []string) {
	for _, b := range list {
		switch b.Type {
		case "text":
			lines = append(lines, "text "+js(b.Text))
		case "thinking":
			lines = append(lines, "thinking "+js(b.Thinking))
		case "tool_use":
			lines = append(lines, "use "+b.ID+" "+b.Name+" "+js(b.Input))
		case "tool_result":
			lines = append(lines, fmt.Sprintf("result %s %v %v", b.Use, b.IsError, blocks(b.Content)))
		}
	}
	return lines
}

// checkSocket compares the WebSocket frames of the run with its durable and provisional events.
func (s *observed) checkSocket(t *testing.T) {
	t.Helper()
	for _, provisional := range []bool{false, true} {
		var want []string
		for _, e := range s.events {
			if of := shownBy()[e.Type()].socket; of != nil && event.Provisional(e) == provisional {
				want = append(want, of(e)...)
			}
		}
		if diff := cmp.Diff(want, socketed(t, s.frames, provisional)); diff != "" {
			t.Errorf("provisional %v: the events -, the WebSocket +:\n%s", provisional, diff)
		}
	}
}

// socketed returns frames as data, without those from run.event records.
func socketed(t *testing.T, frames []string, provisional bool) (list []string) {
	t.Helper()
	for _, frame := range frames {
		var m struct {
			Type, AgentName, ItemID, Text                     string
			PermissionRequestID, ToolCallID, ToolName, Digest string
			Decision, By, Via                                 string
			Seq                                               int64
			Event                                             struct {
				Type, ToolCallID, ToolName, Args, Output, Status, Text string
				Model, Message, Title                                  string
				Attempt                                                int
				DelayMS                                                int64
				ExitCode                                               *int
			}
		}
		if err := json.Unmarshal([]byte(frame), &m); err != nil {
			t.Fatalf("%s: %v", frame, err)
		}
		if (m.Seq == 0) != provisional {
			continue
		}
		var text string
		switch e := m.Event; m.Type + " " + e.Type {
		case "agent_input ", "agent_output ":
			text = m.Type + " " + m.ItemID + " " + js(m.Text)
		case "request_permission ":
			text = m.Type + " " + m.PermissionRequestID + " " + m.ToolCallID + " " + m.ToolName + " " + m.Digest
		case "permission_resolved ":
			text = m.Type + " " + m.PermissionRequestID + " " + m.Decision + " " + m.By + " " + m.Via
		case "agent_streaming text", "agent_streaming thinking":
			text = "delta " + e.Type + " " + js(e.Text)
		case "agent_streaming tool-input":
			text = "delta input " + js(e.Text)
		case "agent_streaming tool-call":
			text = "tool-call " + e.ToolCallID + " " + e.ToolName + " " + js(e.Args)
		case "agent_streaming tool-result":
			text = fmt.Sprintf("tool-result %s %v %s", e.ToolCallID, e.Status == "error", js(e.Output))
		case "agent_streaming tool-start":
			text = "tool-start " + e.ToolCallID + " " + e.ToolName
		case "agent_streaming tool-finish":
			code := "-"
			if e.ExitCode != nil {
				code = fmt.Sprint(*e.ExitCode)
			}
			text = fmt.Sprintf("tool-finish %s %s %v %s", e.ToolCallID, e.ToolName, e.Status == "error", code)
		case "agent_streaming step-start":
			text = fmt.Sprintf("step-start %s %d", e.Model, e.Attempt)
		case "agent_streaming retry":
			text = fmt.Sprintf("retry %d %d %s", e.Attempt, e.DelayMS, e.Message)
		case "agent_streaming notice":
			text = "notice " + js(e.Title+e.Text)
		case "strategy_started ", "strategy_completed ", "strategy_error ", "policy_updated ", "step_started ", "step_completed ", "step_failed ", "agent_streaming retention", "caught_up ":
			continue // of the run's own records
		default:
			t.Errorf("%s is of no event", frame)
		}
		if m.AgentName != "agent" {
			text += " of " + m.AgentName
		}
		list = append(list, text)
	}
	return list
}

// newViewer returns a program for a view, and its output.
func newViewer(t *testing.T, tty bool) (*command.Program, *bytes.Buffer) {
	t.Helper()
	var b bytes.Buffer
	p := &command.Program{}
	p.SetDefaults()
	style := term.Style{TTY: tty, Width: 60}
	p.Out, p.Err = term.NewPrinter(&b, style), term.NewPrinter(&b, style)
	p.Err.Share(p.Out)
	return p, &b
}
