package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// full is an input that has something in every field.
func full(e Event) Input {
	told := "keep the tests"
	return Input{
		Event: e, SessionID: "s1", TranscriptPath: "/t.jsonl", CWD: "/p", PermissionMode: "default", Turn: "turn-1", Agent: "a1", AgentType: "Explore",
		Tool: ToolCall{Name: "Bash", Input: json.RawMessage(`{"command": "ls <x>"}`), UseID: "u1", Output: "out", Response: json.RawMessage(`{"stdout": "out"}`), Error: "failed", Interrupted: true, Took: 1500 * time.Millisecond, Suggestions: json.RawMessage(`[{"type":"setMode","mode":"plan","destination":"session"}]`)},

		Calls: []ToolCall{{Name: "Read", Input: json.RawMessage(`{"file_path":"a"}`), UseID: "u1", Response: json.RawMessage(`"x"`)}},

		Prompt: "go", Source: "startup", Reason: "other", Trigger: "auto", Instructions: &told, Summary: "story", End: TurnEnd{StopHookActive: true, LastMessage: "done", Details: "more", AgentTranscriptPath: "/a.jsonl"},
		Model: "m2", Switch: ModelSwitch{From: "m1"}, Note: UserNotification{Body: "hi", Title: "T", Type: "idle_prompt"},
		Task: Task{ID: "t1", Subject: "sub", Description: "desc", Teammate: "mate", Team: "team"}, File: File{Path: "/p/x", Change: "add", Memory: "Project", LoadReason: "include", Globs: []string{"*.go"}, TriggerFile: "/p/y", ParentFile: "/p/z"},
		OldCWD: "/o", NewCWD: "/n", WorktreeName: "wt", WorktreePath: "/wt",

		Command:  SlashCommand{Type: "slash_command", Name: "commit", Args: "now", Source: "user"},
		Question: MCPQuestion{Server: "db", Mode: "form", URL: "https://db.example", ID: "e1", Schema: json.RawMessage(`{}`), Action: "accept", Content: json.RawMessage(`{}`)},
	}
}

func wireMap(t *testing.T, in Input, d string) map[string]any {
	t.Helper()
	raw, err := in.wire(d)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.ContainsRune(raw, '\n') {
		t.Errorf("%s is more than one line: %s", in.Event, raw)
	}
	var out map[string]any
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return out
}

// The fields of Claude's dialect are those that Claude Code documents; they are
// written down here a second time.
func TestWireFieldsOfClaude(t *testing.T) {
	base := "agent_id agent_type cwd hook_event_name model permission_mode session_id transcript_path turn_id "
	for _, info := range events {
		own, ok := map[Event]string{
			PreToolUse:         "tool_input tool_name tool_use_id",
			PostToolUse:        "duration_ms tool_input tool_name tool_response tool_use_id",
			PostToolUseFailure: "duration_ms error is_interrupt tool_input tool_name tool_use_id",
			PostToolBatch:      "tool_calls",
			Notification:       "message notification_type title",
			UserPromptSubmit:   "prompt source",
			SessionStart:       "source",
			SessionEnd:         "reason",
			Stop:               "last_assistant_message stop_hook_active",
			StopFailure:        "error error_details last_assistant_message",
			SubagentStart:      "",
			SubagentStop:       "agent_transcript_path last_assistant_message stop_hook_active",
			PreCompact:         "custom_instructions trigger",
			PostCompact:        "compact_summary trigger",
			PostModelSwitch:    "cache_ttl context_tokens estimated_cache_write_usd from_model pricing prompt_cache_warm requested_model source to_model",
			PermissionRequest:  "permission_suggestions tool_input tool_name",
			PermissionDenied:   "reason tool_input tool_name tool_use_id",
			Setup:              "trigger",
			TeammateIdle:       "team_name teammate_name",
			TaskCreated:        "task_description task_id task_subject team_name teammate_name",
			TaskCompleted:      "task_description task_id task_subject team_name teammate_name",
			ConfigChange:       "file_path source",
			WorktreeCreate:     "name",
			WorktreeRemove:     "worktree_path",
			CwdChanged:         "new_cwd old_cwd",
			FileChanged:        "event file_path",

			InstructionsLoaded:  "file_path globs load_reason memory_type parent_file_path trigger_file_path",
			UserPromptExpansion: "command_args command_name command_source expansion_type prompt",
			Elicitation:         "elicitation_id mcp_server_name message mode requested_schema url",
			ElicitationResult:   "action content elicitation_id mcp_server_name mode",
		}[info.Event]
		if !ok {
			t.Errorf("%s is not tested", info.Event)
			continue
		}
		want := strings.Fields(base + own)
		slices.Sort(want)
		got := wireMap(t, full(info.Event), dialectClaude)
		if d := cmp.Diff(want, slices.Sorted(maps.Keys(got))); d != "" {
			t.Errorf("%s: %s", info.Event, d)
		}
		if got["hook_event_name"] != string(info.Event) {
			t.Errorf("%s: %v", info.Event, got)
		}
	}
}

func TestWireValues(t *testing.T) {
	got := wireMap(t, full(PostToolUse), dialectClaude)
	want := map[string]any{
		"session_id": "s1", "transcript_path": "/t.jsonl", "cwd": "/p", "permission_mode": "default", "hook_event_name": "PostToolUse",
		"agent_id": "a1", "agent_type": "Explore", "tool_name": "Bash", "tool_input": map[string]any{"command": "ls <x>"},
		"tool_response": map[string]any{"stdout": "out"}, "tool_use_id": "u1", "duration_ms": 1500.0, "turn_id": "turn-1", "model": "m2",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got = wireMap(t, full(PreToolUse), dialectSeed)
	want = map[string]any{
		"event": "preToolUse", "toolName": "Bash", "toolInput": map[string]any{"command": "ls <x>"}, "toolOutput": "out", "toolUseId": "u1",
		"sessionId": "s1", "cwd": "/p", "error": "failed", "transcriptPath": "/t.jsonl", "permissionMode": "default", "agentId": "a1",
		"agentType": "Explore", "stopHookActive": true, "lastAssistantMessage": "done", "trigger": "auto", "customInstructions": "keep the tests", "isInterrupt": true,
		"permissionSuggestions": []any{map[string]any{"type": "setMode", "mode": "plan", "destination": "session"}}, "agentTranscriptPath": "/a.jsonl",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// What there is nothing to say about is left out, or is there and empty.
func TestWireOfAnEmptyInput(t *testing.T) {
	for _, c := range []struct {
		event   Event
		dialect string
		want    string
	}{
		{PreToolUse, dialectSeed, `{"event":"preToolUse"}`},
		{Stop, dialectSeed, `{"event":"stop","stopHookActive":false}`},
		{Stop, dialectClaude, `{"hook_event_name":"Stop","session_id":"","transcript_path":"","cwd":"","stop_hook_active":false}`},
		{PreCompact, "", `{"hook_event_name":"PreCompact","session_id":"","transcript_path":"","cwd":"","trigger":"","custom_instructions":null}`},
		{PostToolUse, dialectClaude, `{"hook_event_name":"PostToolUse","session_id":"","transcript_path":"","cwd":"","tool_name":"","tool_input":null,"tool_response":"","tool_use_id":""}`},
		{PostToolBatch, dialectClaude, `{"hook_event_name":"PostToolBatch","session_id":"","transcript_path":"","cwd":"","tool_calls":[]}`},
	} {
		in := Input{Event: c.event}
		if got, err := in.wire(c.dialect); err != nil || string(got) != c.want {
			t.Errorf("%s, %v\nwant %s", got, err, c.want)
		}
	}
	for _, in := range []Input{{Event: "Nope"}, {Event: PostToolBatch, Tool: ToolCall{Input: nil}}} {
		if _, err := in.wire(dialectSeed); !errors.Is(err, &Error{}) {
			t.Errorf("%s in the dialect of the Open Agent SDK gives %v", in.Event, err)
		}
	}
	for _, in := range []Input{{Event: PreToolUse, Tool: ToolCall{Input: []byte(`{"a"`)}}, {Event: PostToolBatch, Calls: []ToolCall{{Response: []byte(`{`)}}}} {
		if got, err := in.wire(dialectClaude); !errors.Is(err, &Error{}) {
			t.Errorf("%s, %v", got, err)
		}
	}
}

func TestWireMakesPathsAbsolute(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		testneed.Need(t, "no home: %v", err)
	}
	for _, c := range []struct{ tool, in, want string }{
		{"Edit", `{"file_path":"a.go","old_string":"x"}`, `{"file_path":"/p/a.go","old_string":"x"}`},
		{"Edit", `{"file_path":"../a.go"}`, `{"file_path":"/a.go"}`},
		{"Edit", `{"file_path":"/x/../a.go"}`, `{"file_path":"/x/../a.go"}`},
		{"Edit", `{"file_path":"~/a"}`, `{"file_path":"` + filepath.ToSlash(filepath.Join(home, "a")) + `"}`},
		{"Edit", `{"file_path":"~other/a"}`, `{"file_path":"/p/~other/a"}`},
		{"Edit", `{"file\u005fpath":"a"}`, `{"file\u005fpath":"/p/a"}`},
		{"Edit", `{"file_path":"a","file_path":"b"}`, `{"file_path":"/p/a","file_path":"/p/b"}`},
		{"NotebookEdit", `{"notebook_path":"n.ipynb","x":{"file_path":"in"}}`, `{"notebook_path":"/p/n.ipynb","x":{"file_path":"in"}}`},
		{"Grep", `{"pattern":"\"path\":\"x\"","path":"src"}`, `{"pattern":"\"path\":\"x\"","path":"/p/src"}`},
		{"Grep", `{"":"path","path":"","glob":["path","y"]}`, `{"":"path","path":"","glob":["path","y"]}`},
		{"Edit", `{"old_string":"a\\","file_path":"b\"c"}`, `{"old_string":"a\\","file_path":"/p/b\"c"}`},
		{"Edit", `{"n":1,"b":true,"z":null,"file_path":"a"}`, `{"n":1,"b":true,"z":null,"file_path":"/p/a"}`},
		{"Edit", `{"file_path":5,"path":{"path":"x"}}`, `{"file_path":5,"path":{"path":"x"}}`},
		{"Edit", `["file_path","x"]`, `["file_path","x"]`},
		{"Edit", `"file_path"`, `"file_path"`},
		{"mcp__a__b", `{"path":"x"}`, `{"path":"x"}`},
	} {
		in := Input{Event: PreToolUse, Tool: ToolCall{Name: c.tool, Input: json.RawMessage(c.in)}, CWD: "/p"}
		var got struct {
			Input json.RawMessage `json:"tool_input"`
		}
		raw, err := in.wire(dialectClaude)
		if err != nil || json.Unmarshal(raw, &got) != nil || string(got.Input) != c.want {
			t.Errorf("%s: %s, %v; want %s", c.in, got.Input, err, c.want)
		}
		if string(in.Tool.Input) != c.in {
			t.Errorf("the input was changed: %s", in.Tool.Input)
		}
	}
	batch := wireMap(t, full(PostToolBatch), dialectClaude)["tool_calls"]
	want := []any{map[string]any{"tool_name": "Read", "tool_input": map[string]any{"file_path": "/p/a"}, "tool_use_id": "u1", "tool_response": "x"}}
	if d := cmp.Diff(want, batch); d != "" {
		t.Error(d)
	}
}

func FuzzAbsoluteInput(f *testing.F) {
	for _, s := range []string{`{"file_path":"a"}`, `{"x":["\"",{"path":"b"}],"path":"~"}`, `{"":"","path":"\\"}`, `[{"path":"x"}]`, `{"a":"\\\""`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := absoluteInput("Edit", json.RawMessage(s), "/p")
		var before map[string]any
		if json.Unmarshal([]byte(s), &before) != nil {
			return
		}
		after := map[string]any{}
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatalf("%s became %s: %v", s, got, err)
		}
		for k, v := range before {
			path, text := v.(string)
			if text && (k == "path" || k == "file_path" || k == "notebook_path") {
				v = absolutePath(path, "/p")
			}
			before[k] = v
		}
		if d := cmp.Diff(before, after); d != "" && before != nil {
			t.Errorf("%s became %s: %s", s, got, d)
		}
	})
}

// What is written is read again, in both dialects.
func TestInputRoundTrip(t *testing.T) {
	for _, info := range events {
		for _, d := range []string{dialectClaude, dialectSeed} {
			if d == dialectSeed && info.Seed == "" {
				continue
			}
			in := full(info.Event)
			raw, err := in.wire(d)
			if err != nil {
				t.Fatal(err)
			}
			back, err := parseInput(info.Event, raw)
			if err != nil {
				t.Errorf("%s %s: %v", d, info.Event, err)
				continue
			}
			again, err := back.wire(d)
			if err != nil || !bytes.Equal(again, raw) {
				t.Errorf("%s %s:\n%s became\n%s, %v", d, info.Event, raw, again, err)
			}
		}
	}
	in, err := parseInput(PreToolUse, []byte(`{"tool_name": "Bash", "tool_input": {"command": "ls"}, "agent_id": null}`))
	want := Input{Event: PreToolUse, Tool: ToolCall{Name: "Bash", Input: json.RawMessage(`{"command": "ls"}`)}}
	if d := cmp.Diff(want, in); d != "" || err != nil {
		t.Error(err, d)
	}
	in, err = parseInput(FileChanged, []byte(`{"file_path": "/x", "event": "unlink"}`))
	if in.File.Change != "unlink" || err != nil {
		t.Errorf("%+v, %v", in, err)
	}
}

func TestInputRefuses(t *testing.T) {
	for _, c := range []struct {
		event                  Event
		raw, field, what, hint string
	}{
		{"Nope", `{}`, "", "unknown event", ""},
		{PreToolUse, `[]`, "", "want an object", ""},
		{PreToolUse, `{"tool_nam": "x"}`, "tool_nam", `PreToolUse has no field "tool_nam"`, "did you mean tool_name?"},
		{PreToolUse, `{"prompt": "x"}`, "prompt", "has no field", "the fields are"},
		{PreToolUse, `{"tool_name": 5}`, "tool_name", "wrong type", ""},
		{Stop, `{"stop_hook_active": "yes"}`, "stop_hook_active", "wrong type", ""},
		{PostToolUse, `{"duration_ms": "1"}`, "duration_ms", "wrong type", ""},
		{PreToolUse, `{"hook_event_name": "Stop"}`, "hook_event_name", "the input is for Stop, not for PreToolUse", "use that event"},
		{PreToolUse, `{"event": "stop"}`, "event", "the input is for Stop", ""},
		{PreToolUse, `{"hook_event_name": "PreToolUs"}`, "hook_event_name", "unknown event", "did you mean PreToolUse?"},
		{PreToolUse, `{"hook_event_name": 1}`, "hook_event_name", "the event name is missing", ""},
		{PreToolUse, `{"hook_event_name": "PreToolUse", "toolName": "x"}`, "toolName", "has no field", "tool_name"},
		{PreToolUse, `{"cwd": "a", "cwd": "b"}`, "", "duplicate key", ""},
	} {
		_, err := parseInput(c.event, []byte(c.raw))
		e, ok := errors.AsType[*Error](err)
		if !ok || e.Field != c.field || !strings.Contains(e.What, c.what) || !strings.Contains(e.Advice, c.hint) {
			t.Errorf("%s: %+v, want %q %q %q", c.raw, err, c.field, c.what, c.hint)
		}
	}
}

func BenchmarkWire(b *testing.B) {
	small := full(PreToolUse)
	big := small
	big.Tool.Name = "Write"
	text, err := json.Marshal(map[string]string{"file_path": "a.go", "content": strings.Repeat("x := \"y\"\n", 1<<17)})
	if err != nil {
		b.Fatal(err)
	}
	big.Tool.Input = text
	for name, in := range map[string]Input{"small": small, "MiB": big} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				raw, err := in.wire(dialectClaude)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(raw)))
			}
		})
	}
}

func parseInput(e Event, raw []byte) (Input, error) {
	in := Input{Event: e}
	err := in.UnmarshalJSON(raw)
	return in, err
}

func TestInputReadsItsEvent(t *testing.T) {
	for raw, want := range map[string]Event{
		`{"hook_event_name": "PreToolUse", "tool_name": "Bash"}`: PreToolUse,
		`{"event": "preToolUse", "toolName": "Bash"}`:            PreToolUse,
		`{"tool_name": "Bash"}`:                                  "",
		`{"hook_event_name": "Unheard"}`:                         "",
	} {
		var in Input
		err := json.Unmarshal([]byte(raw), &in)
		if (err == nil) != (want != "") || in.Event != want {
			t.Errorf("%s: %v, %v", raw, in.Event, err)
		}
	}
}
