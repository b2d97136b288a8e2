package anthropic_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/model/internal/modeltest"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestEncode(t *testing.T) {
	m := newModel(t, "http://127.0.0.1:1")
	image := transcript.Media{MIME: "image/png", Data: []byte{0x89, 'P'}}
	for _, tt := range []struct {
		name string
		item transcript.Item
		role string
		want string
	}{
		{
			"user", transcript.UserText("hi \"you\"\n<b> é"), "user",
			`{"type":"text","text":"hi \"you\"\n<b> é"}`,
		},
		{
			"several parts", user(transcript.Text{Text: "a"}, transcript.Text{}, transcript.Text{Text: "b"}), "user",
			`{"type":"text","text":"a"},{"type":"text","text":"b"}`,
		},
		{"nothing to send", user(transcript.Text{}, transcript.Custom{Kind: "x", Value: json.RawMessage(`1`)}, transcript.Unknown{Type: "future", JSON: json.RawMessage(`{"type":"future"}`)}), "", ``},
		{
			"context",
			transcript.Item{Role: transcript.RoleContext, Parts: []transcript.Part{transcript.Text{Text: "cwd"}}},
			"user",
			`{"type":"text","text":"cwd"}`,
		},
		{
			"notification",
			transcript.Item{Role: transcript.RoleNotification, Parts: []transcript.Part{transcript.Text{Text: "done & <b>"}}},
			"user",
			`{"type":"text","text":"<system-reminder>\ndone & <b>\n</system-reminder>"}`,
		},
		{
			"developer",
			transcript.Item{Role: transcript.RoleDeveloper, Parts: []transcript.Part{transcript.Text{Text: "be brief"}}},
			"user",
			`{"type":"text","text":"<system-reminder>\nbe brief\n</system-reminder>"}`,
		},
		{
			"system",
			transcript.Item{Role: transcript.RoleSystem, Parts: []transcript.Part{transcript.Text{Text: "be brief"}, transcript.Text{}}},
			"user",
			`{"type":"text","text":"<system-reminder>\nbe brief\n</system-reminder>"}`,
		},
		{
			"structured", user(transcript.Structured{Value: json.RawMessage(`{"n":9007199254740993,"s":"a\"b"}`)}), "user",
			`{"type":"text","text":"{\"n\":9007199254740993,\"s\":\"a\\\"b\"}"}`,
		},
		{
			"image", user(image), "user",
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVA="}}`,
		},
		{
			"image address", user(transcript.Media{MIME: "image/webp", URI: "https://example.org/a.webp"}), "user",
			`{"type":"image","source":{"type":"url","url":"https://example.org/a.webp"}}`,
		},
		{
			"image on disk", user(transcript.Media{MIME: "image/png", URI: "file:///a.png"}), "user",
			`{"type":"text","text":"[image/png file:///a.png: not shown]"}`,
		},
		{
			"sound", user(transcript.Media{MIME: "audio/wav", Data: []byte("RIFF")}), "user",
			`{"type":"text","text":"[audio/wav without an address: not shown]"}`,
		},
		{
			"pdf", user(transcript.File{Name: "a.pdf", MIME: "application/pdf", Data: []byte("%PDF")}), "user",
			`{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERg=="},"title":"a.pdf"}`,
		},
		{
			"pdf address", user(transcript.File{MIME: "application/pdf", URI: "https://example.org/a.pdf"}), "user",
			`{"type":"document","source":{"type":"url","url":"https://example.org/a.pdf"}}`,
		},
		{
			"text file", user(transcript.File{Name: "a.md", MIME: "text/markdown", Data: []byte("# \"A\"\n")}), "user",
			`{"type":"document","source":{"type":"text","media_type":"text/plain","data":"# \"A\"\n"},"title":"a.md"}`,
		},
		{
			"other file", user(transcript.File{Name: "a.zip", MIME: "application/zip", Data: []byte("PK")}), "user",
			`{"type":"text","text":"[file a.zip application/zip: not shown]"}`,
		},
		{
			"result", result("toolu_1", false, transcript.Text{Text: "one"}, transcript.Text{Text: "two"}), "user",
			`{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}`,
		},
		{
			"result with an image", result("toolu_1", false, image, transcript.Structured{Value: json.RawMessage(`{}`)}), "user",
			`{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"iVA="}},{"type":"text","text":"{}"}]}`,
		},
		{
			"empty result", result("toolu_1", false, transcript.Text{}), "user",
			`{"type":"tool_result","tool_use_id":"toolu_1"}`,
		},
		{
			"error", result("toolu_1", true, transcript.Text{Text: "no"}), "user",
			`{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"no"}],"is_error":true}`,
		},
		{
			"empty error", result("toolu_1", true), "user",
			`{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"the tool failed without output"}],"is_error":true}`,
		},
		{
			"results come first",
			transcript.Item{Role: transcript.RoleTool, Parts: []transcript.Part{
				transcript.Text{Text: "note"}, transcript.ToolResult{UseID: "a.b:1"}, transcript.ToolResult{UseID: "b"},
			}},
			"user",
			`{"type":"tool_result","tool_use_id":"a_b_1"},{"type":"tool_result","tool_use_id":"b"},{"type":"text","text":"note"}`,
		},
		{
			"assistant of another wire",
			transcript.Item{
				Role: transcript.RoleAssistant, Native: &transcript.Native{API: "openai-chat", JSON: json.RawMessage(`{}`)},
				Parts: []transcript.Part{
					transcript.Thinking{Text: "hm", Signature: "x"},
					transcript.Text{Text: "I look."},
					transcript.Text{},
					transcript.ToolUse{ID: "functions.Read:0", Name: "Read", Input: json.RawMessage(`{"n":9007199254740993}`)},
					transcript.ToolUse{ID: "b", Name: "Read", Input: json.RawMessage(`"{bad"`)},
				},
			},
			"assistant",
			`{"type":"text","text":"I look."},{"type":"tool_use","id":"functions_Read_0","name":"Read","input":{"n":9007199254740993}},{"type":"tool_use","id":"b","name":"Read","input":{"malformed_input":"{bad"}}`,
		},
		{
			"assistant of this wire",
			transcript.Item{
				Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "other"}},
				Native: &transcript.Native{API: "anthropic-messages", JSON: json.RawMessage(`[{"type":"thinking","thinking":"hm","signature":"x"}]`)},
			},
			"assistant",
			`{"type":"thinking","thinking":"hm","signature":"x"}`,
		},
		{"assistant that only thought", transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Thinking{Text: "hm"}}}, "", ``},
		{"assistant that said nothing", transcript.Item{Role: transcript.RoleAssistant, Native: &transcript.Native{API: "anthropic-messages", JSON: json.RawMessage(`[]`)}}, "", ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := tt.item.MustEncode()
			before := string(e.JSON)
			w, err := m.Encode(e)
			if err != nil || w.Role != tt.role || string(w.JSON) != tt.want {
				t.Errorf("%s %s, %v\nwant %s %s", w.Role, w.JSON, err, tt.role, tt.want)
			}
			if w.JSON != nil && !json.Valid([]byte("["+string(w.JSON)+"]")) {
				t.Error("not JSON")
			}
			// What the log gives back is sent as the same bytes.
			var parsed transcript.Encoded
			if err := parsed.Parse(e.JSON); err != nil {
				t.Fatal(err)
			}
			decoded, err := parsed.Decode()
			if err != nil {
				t.Fatal(err)
			}
			for _, again := range []transcript.Encoded{e, parsed, decoded.MustEncode()} {
				if w2, _ := m.Encode(again); string(w2.JSON) != string(w.JSON) {
					t.Errorf("again: %s", w2.JSON)
				}
			}
			_ = append(w.JSON, "}]"...) // whoever appends to a wire does not reach the item
			if string(e.JSON) != before {
				t.Error("the item has changed")
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	m := newModel(t, "http://127.0.0.1:1")
	e := transcript.Item{
		ID: "i1", Role: transcript.RoleAssistant,
		Native: &transcript.Native{API: "anthropic-messages", JSON: json.RawMessage(`{}`)},
	}.MustEncode()

	if w, err := m.Encode(e); err == nil || !strings.Contains(err.Error(), `"i1"`) {
		t.Errorf("%s, %v", w.JSON, err)
	}
}

// tool_executor-006: the shape of a tool result; is_error only when true.
func TestToolResultShape(t *testing.T) {
	for _, c := range corpus.Load(t, "open-agent-sdk.json") {
		if c.ID != "tool_executor-006" {
			continue
		}
		var want struct {
			Role    string
			Content []map[string]any
		}
		c.Decode(t, c.Expect(), &want)
		m := newModel(t, "http://127.0.0.1:1")
		id := want.Content[0]["tool_use_id"].(string)
		w := modeltest.EncodeAll(t, m, result(id, false, transcript.Text{Text: "..."}))[0]
		var got map[string]any
		if err := json.Unmarshal(w.JSON, &got); err != nil {
			t.Fatal(err)
		}
		// A string and an array of one text block mean the same on this wire.
		got["content"] = got["content"].([]any)[0].(map[string]any)["text"]
		for k, v := range want.Content[0] {
			if got[k] != v {
				t.Errorf("%s: %s is %v, want %v", c.ID, k, got[k], v)
			}
		}
		if len(got) != len(want.Content[0]) || w.Role != want.Role {
			t.Errorf("%s: %s %v", c.ID, w.Role, got)
		}
		return
	}
	t.Error("the corpus has no tool_executor-006")
}

func user(parts ...transcript.Part) transcript.Item {
	return transcript.Item{Role: transcript.RoleUser, Parts: parts}
}

func result(id string, isError bool, content ...transcript.Part) transcript.Item {
	return transcript.ToolResult{UseID: id, IsError: isError, Content: content}.Item()
}
