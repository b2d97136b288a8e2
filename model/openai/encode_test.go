package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/model/internal/modeltest"
	"github.com/holdfast-dev/holdfast/model/openai"
	"github.com/holdfast-dev/holdfast/transcript"
)

func TestEncode(t *testing.T) {
	m := newModel(t, "http://127.0.0.1:1")
	image := transcript.Media{MIME: "image/png", Data: []byte{0x89, 'P'}}
	const imagePart = `{"type":"image_url","image_url":{"url":"data:image/png;base64,iVA="}}`
	for _, tt := range []struct {
		name string
		item transcript.Item
		role string
		want string // messages; those after a line break come after the round
	}{
		{"user", transcript.UserText("hi \"you\"\n<b> é"), "user", `{"role":"user","content":"hi \"you\"\n<b> é"}`},
		{
			"several texts are one string", user(transcript.Text{Text: "a"}, transcript.Text{}, transcript.Structured{Value: json.RawMessage(`{"n":9007199254740993,"s":"x\"y"}`)}), "user",
			`{"role":"user","content":"a\n{\"n\":9007199254740993,\"s\":\"x\\\"y\"}"}`,
		},
		{"nothing to send", user(transcript.Text{}, transcript.Custom{Kind: "x", Value: json.RawMessage(`1`)}, transcript.Unknown{Type: "future", JSON: json.RawMessage(`{"type":"future"}`)}), "", ``},
		{"context", item(transcript.RoleContext, "cwd"), "user", `{"role":"user","content":"cwd"}`},
		{"notification", item(transcript.RoleNotification, "done & <b>"), "user", `{"role":"user","content":"<system-reminder>\ndone & <b>\n</system-reminder>"}`},
		{"system", item(transcript.RoleSystem, "be brief"), "system", `{"role":"system","content":"be brief"}`},
		{"developer", item(transcript.RoleDeveloper, "be brief"), "system", `{"role":"system","content":"be brief"}`},
		{
			"image", user(transcript.Text{Text: "see"}, image, transcript.Text{Text: "?"}), "user",
			`{"role":"user","content":[{"type":"text","text":"see"},` + imagePart + `,{"type":"text","text":"?"}]}`,
		},
		{
			"image address", user(transcript.Media{MIME: "image/webp", URI: "https://example.org/a.webp"}), "user",
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"https://example.org/a.webp"}}]}`,
		},
		{
			"sound", user(transcript.Media{MIME: "audio/wav", Data: []byte("RIFF")}, transcript.Media{MIME: "audio/mpeg", Data: []byte("ID3")}), "user",
			`{"role":"user","content":[{"type":"input_audio","input_audio":{"data":"UklGRg==","format":"wav"}},{"type":"input_audio","input_audio":{"data":"SUQz","format":"mp3"}}]}`,
		},
		{
			"pdf", user(transcript.File{Name: "a.pdf", MIME: "application/pdf", Data: []byte("%PDF")}, transcript.File{MIME: "application/pdf", Data: []byte("%PDF")}), "user",
			`{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,JVBERg=="}},{"type":"file","file":{"filename":"document.pdf","file_data":"data:application/pdf;base64,JVBERg=="}}]}`,
		},
		{
			"other file", user(transcript.File{Name: "a.zip", MIME: "application/zip", Data: []byte("PK")}, transcript.Media{MIME: "video/mp4", URI: "file:///a.mp4"}), "user",
			`{"role":"user","content":"[application/zip a.zip: not shown]\n[video/mp4 file:///a.mp4: not shown]"}`,
		},
		{
			"reminder with an image",
			transcript.Item{Role: transcript.RoleNotification, Parts: []transcript.Part{transcript.Text{Text: "a"}, image}},
			"user",
			`{"role":"user","content":[{"type":"text","text":"<system-reminder>\na\n</system-reminder>"},` + imagePart + `]}`,
		},
		{
			"system with an image",
			transcript.Item{Role: transcript.RoleSystem, Parts: []transcript.Part{image}},
			"system",
			`{"role":"system","content":"[image/png : not shown]"}`,
		},
		{"result", result("c1", false, transcript.Text{Text: "one"}, transcript.Text{Text: "two"}), "tool", `{"role":"tool","tool_call_id":"c1","content":"one\ntwo"}`},
		{"plain result", result("c1", false, transcript.Text{Text: "\"one\""}), "tool", `{"role":"tool","tool_call_id":"c1","content":"\"one\""}`},
		{"empty result", result("c1", false), "tool", `{"role":"tool","tool_call_id":"c1","content":""}`},
		{"error", result("c1", true, transcript.Text{Text: "no"}), "tool", `{"role":"tool","tool_call_id":"c1","content":"error: no"}`},
		{"error of two texts", result("c1", true, transcript.Text{Text: "no"}, transcript.Text{Text: "no"}), "tool", `{"role":"tool","tool_call_id":"c1","content":"error: no\nno"}`},
		{
			"results",
			transcript.Item{Role: transcript.RoleTool, Parts: []transcript.Part{transcript.ToolResult{UseID: "a"}, transcript.ToolResult{UseID: "b"}}},
			"tool",
			`{"role":"tool","tool_call_id":"a","content":""},{"role":"tool","tool_call_id":"b","content":""}`,
		},
		{
			"result with an image", result("c1", false, transcript.Text{Text: "see"}, image), "tool+media",
			`{"role":"tool","tool_call_id":"c1","content":"see\n[image/png: shown below]"}` + "\n" + `{"role":"user","content":[` + imagePart + `]}`,
		},
		{
			"result and text",
			transcript.Item{Role: transcript.RoleUser, Parts: []transcript.Part{transcript.ToolResult{UseID: "a"}, transcript.Text{Text: "and?"}}},
			"tool+media",
			`{"role":"tool","tool_call_id":"a","content":""}` + "\n" + `{"role":"user","content":"and?"}`,
		},
		{
			"assistant of another wire",
			transcript.Item{
				Role: transcript.RoleAssistant, Native: &transcript.Native{API: "anthropic-messages", JSON: json.RawMessage(`[]`)},
				Parts: []transcript.Part{
					transcript.Thinking{Text: "hm"},
					transcript.Text{Text: "I look."},
					transcript.Text{},
					transcript.ToolUse{ID: "a", Name: "Read", Input: json.RawMessage(`{"n":9007199254740993,"s":"x\"\\"}`)},
					transcript.ToolUse{ID: "b", Name: "Read", Input: json.RawMessage(`"{bad"`)},
				},
			},
			"assistant",
			`{"role":"assistant","content":"I look.","tool_calls":[{"id":"a","type":"function","function":{"name":"Read","arguments":"{\"n\":9007199254740993,\"s\":\"x\\\"\\\\\"}"}},{"id":"b","type":"function","function":{"name":"Read","arguments":"{\"malformed_input\":\"{bad\"}"}}]}`,
		},
		{
			"assistant with tools only",
			transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.ToolUse{ID: "a", Name: "Read", Input: json.RawMessage(`{}`)}}},
			"assistant",
			`{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"Read","arguments":"{}"}}]}`,
		},
		{"assistant of this wire", transcript.Item{
			Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: "other"}},
			Native: &transcript.Native{API: "openai-chat", JSON: json.RawMessage(`{"role":"assistant","content":"mine"}`)},
		}, "assistant", `{"role":"assistant","content":"mine"}`},
		{"assistant that only thought", transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Thinking{Text: "hm"}}}, "", ``},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := tt.item.MustEncode()
			w, err := m.Encode(e)
			if err != nil || w.Role != tt.role || string(w.JSON) != tt.want {
				t.Errorf("%s %s, %v\nwant %s %s", w.Role, w.JSON, err, tt.role, tt.want)
			}
			if w.JSON != nil && !json.Valid([]byte("["+strings.Replace(string(w.JSON), "\n", ",", 1)+"]")) {
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
		})
	}
	official, err := openai.New("gpt-5.1", nil)
	if err != nil {
		t.Fatal(err)
	}
	if w := modeltest.EncodeAll(t, official, item(transcript.RoleDeveloper, "x"))[0]; w.Role != "developer" || string(w.JSON) != `{"role":"developer","content":"x"}` {
		t.Errorf("OpenAI knows developer messages: %s %s", w.Role, w.JSON)
	}
}

func TestEncodeRefuses(t *testing.T) {
	m := newModel(t, "http://127.0.0.1:1")
	e := transcript.Item{
		ID: "i1", Role: transcript.RoleAssistant,
		Native: &transcript.Native{API: "openai-chat", JSON: json.RawMessage(`[]`)},
	}.MustEncode()

	if w, err := m.Encode(e); err == nil || !strings.Contains(err.Error(), `"i1"`) {
		t.Errorf("%s, %v", w.JSON, err)
	}
}

func item(role transcript.Role, text string) transcript.Item {
	return transcript.Item{Role: role, Parts: []transcript.Part{transcript.Text{Text: text}}}
}

func user(parts ...transcript.Part) transcript.Item {
	return transcript.Item{Role: transcript.RoleUser, Parts: parts}
}

func result(id string, isError bool, content ...transcript.Part) transcript.Item {
	return transcript.ToolResult{UseID: id, IsError: isError, Content: content}.Item()
}
