package convert_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/session/convert"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// partStrings are the parts of a session's items in short, with their data.
func partStrings(t *testing.T, s *session.Sessions, id string) string {
	t.Helper()
	l, err := s.Load(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range l.Items {
		it, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range it.Parts {
			out = append(out, partString(p))
		}
	}
	return strings.Join(out, " | ")
}

func partString(p transcript.Part) string {
	switch p := p.(type) {
	case transcript.Text:
		return "text " + p.Text
	case transcript.Thinking:
		return fmt.Sprintf("thinking %s;%s;%s;%v", p.Text, p.Signature, p.Data, p.Redacted)
	case transcript.ToolUse:
		return fmt.Sprintf("use %s %s %s", p.ID, p.Name, p.Input)
	case transcript.ToolResult:
		var in []string
		for _, q := range p.Content {
			in = append(in, partString(q))
		}
		return fmt.Sprintf("result %s %v (%s)", p.UseID, p.IsError, strings.Join(in, ", "))
	case transcript.Media:
		return fmt.Sprintf("media %s %q %s", p.MIME, p.Data, p.URI)
	case transcript.File:
		return fmt.Sprintf("file %s %s %q %s", p.Name, p.MIME, p.Data, p.URI)
	case transcript.Custom:
		return fmt.Sprintf("custom %s %s", p.Kind, p.Value)
	}
	return fmt.Sprintf("%T", p)
}

const use = `{"type":"tool_use","id":"u","name":"Bash","input":{}}`

// Content blocks as the Messages API documents them, and what a transcript has of them.
// A block that is not what it says it is stays, as one that models do not see.
var contentBlocks = []struct{ role, block, want string }{
	{"user", `"just text"`, "text just text"},
	{"user", `{"type":"text","text":"a"}`, "text a"},
	{"user", `{"type":"text","text":1}`, `custom anthropic/text {"type":"text","text":1}`},
	{"assistant", `{"type":"thinking","thinking":"hm","signature":"c2ln"}`, "thinking hm;c2ln;;false"},
	{"assistant", `{"type":"thinking","thinking":null}`, `custom anthropic/thinking {"type":"thinking","thinking":null}`},
	{"assistant", `{"type":"redacted_thinking","data":"ZGF0YQ=="}`, "thinking ;;ZGF0YQ==;true"},
	{"assistant", `{"type":"redacted_thinking"}`, `custom anthropic/redacted_thinking {"type":"redacted_thinking"}`},
	{"user", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}`, `media image/png "hi" `},
	{"user", `{"type":"image","source":{"type":"url","url":"https://h/x.png"}}`, `media  "" https://h/x.png`},
	{"user", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"a*b="}}`, `custom anthropic/image {"type":"image","source":{"type":"base64","media_type":"image/png","data":"a*b="}}`},
	{"user", `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"abc"}}`, `custom anthropic/image {"type":"image","source":{"type":"base64","media_type":"image/png","data":"abc"}}`},
	{"user", `{"type":"image","source":{"type":"file","file_id":"f"}}`, `custom anthropic/image {"type":"image","source":{"type":"file","file_id":"f"}}`},
	{"user", `{"type":"image"}`, `custom anthropic/image {"type":"image"}`},
	{"user", `{"type":"document","title":"t.pdf","source":{"type":"base64","media_type":"application/pdf","data":"aGk="}}`, `file t.pdf application/pdf "hi" `},
	{"user", `{"type":"document","title":"t","source":{"type":"url","url":"https://h/t.pdf"}}`, `file t  "" https://h/t.pdf`},
	{"user", `{"type":"document","title":"n","source":{"type":"text","media_type":"text/plain","data":"a \"b\" é"}}`, `file n text/plain "a \"b\" é" `},
	{"user", `{"type":"image","source":{"type":"text","data":"x"}}`, `custom anthropic/image {"type":"image","source":{"type":"text","data":"x"}}`},
	{"assistant", `{"type":"server_tool_use","id":"s","name":"web_search","input":{}}`, `custom anthropic/server_tool_use {"type":"server_tool_use","id":"s","name":"web_search","input":{}}`},
	{"assistant", `{"type":"tool_use","name":"Bash","input":{}}`, `custom anthropic/tool_use {"type":"tool_use","name":"Bash","input":{}}`},
	{"assistant", `{"no":"type"}`, `custom anthropic/ {"no":"type"}`},
}

func TestBlocksBecomeParts(t *testing.T) {
	for _, tt := range contentBlocks {
		s := newSessions()
		file := fmt.Sprintf(`{"messages":[{"role":"user","content":"start"},{"role":%q,"content":[%s]}],"metadata":{"id":"x","cwd":"/w","model":"m","createdAt":"2026-01-01T00:00:00.000Z","updatedAt":"2026-01-01T00:00:00.000Z","messageCount":2}}`, tt.role, tt.block)
		r := importSource(t, s, write(t, "transcript.json", file), nil)
		if got := partStrings(t, s, r.Session); got != "text start | "+tt.want {
			t.Errorf("%s\n is %s\nwant text start | %s", tt.block, got, tt.want)
			continue
		}
		if got := export(t, s, r.Session, convert.OpenAgentSDK); string(got) != file {
			t.Errorf("%s\nis exported as\n%s", tt.block, got)
		}
	}
}

// Results of tools have blocks of their own.
func TestResultsBecomeParts(t *testing.T) {
	for _, tt := range []struct{ result, want string }{
		{`"content":"out"`, `result u false (text out)`},
		{`"content":""`, `result u false ()`},
		{`"content":[]`, `result u false ()`},
		{`"is_error":true,"content":"bad"`, `result u true (text bad)`},
		{`"is_error":"true","content":"fine"`, `result u false (text fine)`},
		{`"content":["a","b"]`, `result u false (text a, text b)`},
		{`"content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aGk="}}]`, `result u false (text a, media image/png "hi" )`},
		{`"content":[{"type":"tool_use","id":"v","name":"x","input":{}}]`, `result u false (custom anthropic {"type":"tool_use","id":"v","name":"x","input":{}})`},
		{`"content":[{"type":"tool_result","tool_use_id":"u","content":"x"}]`, `result u false (custom anthropic {"type":"tool_result","tool_use_id":"u","content":"x"})`},
		{`"content":{"a":1}`, `result u false ()`},
	} {
		s := newSessions()
		file := fmt.Sprintf(`{"messages":[{"role":"user","content":"start"},{"role":"assistant","content":[%s]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"u",%s}]}],"metadata":{"id":"x"}}`, use, tt.result)
		r := importSource(t, s, write(t, "transcript.json", file), nil)
		if got, want := partStrings(t, s, r.Session), "text start | use u Bash {} | "+tt.want; got != want {
			t.Errorf("%s\n is %s\nwant %s", tt.result, got, want)
		}
		if got := export(t, s, r.Session, convert.OpenAgentSDK); string(got) != file {
			t.Errorf("%s\nis exported as\n%s", tt.result, got)
		}
	}
}

// What models see goes from one program's file to the others' and back.
func TestBlocksBetweenPrograms(t *testing.T) {
	for _, tt := range contentBlocks {
		if strings.Contains(tt.block, `{"no":`) {
			continue // what has no type is left out for another program
		}
		s := newSessions()
		file := fmt.Sprintf(`{"messages":[{"role":"user","content":"start"},{"role":%q,"content":[%s]}],"metadata":{"id":"x"}}`, tt.role, tt.block)
		r := importSource(t, s, write(t, "transcript.json", file), nil)
		claude := export(t, s, r.Session, convert.Claude)
		for line := range strings.Lines(string(claude)) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("%s\nmakes %s", tt.block, line)
			}
		}
		again := newSessions()
		back := importSource(t, again, write(t, "x.jsonl", string(claude)), nil)
		if got := partStrings(t, again, back.Session); got != "text start | "+tt.want {
			t.Errorf("%s\nby way of Claude Code is %s\nwant %s\n%s", tt.block, got, tt.want, claude)
		}
	}
}

// Pages for people show each part, name what they cannot show, and say how an answer ended.
func TestPeopleSeeEachPart(t *testing.T) {
	long := strings.Repeat("line\n", 40)
	items := []transcript.Item{
		transcript.UserText("start"),
		{Role: transcript.RoleAssistant, Finish: transcript.FinishMaxTokens, Parts: []transcript.Part{
			transcript.Thinking{Text: "let me think"}, transcript.Text{Text: "cut"}, transcript.ToolUse{ID: "u", Name: "Read", Input: []byte(`{"path":"` + strings.Repeat("p", 150) + `"}`)},
		}},
		transcript.ToolResult{UseID: "u", Content: []transcript.Part{transcript.Text{Text: long}, transcript.Structured{Value: []byte(`{"k":[1]}`)}}}.Item(),
		{Role: transcript.RoleUser, Parts: []transcript.Part{
			transcript.File{Name: "plan.pdf", MIME: "application/pdf", Data: []byte("x")}, transcript.Media{MIME: "image/png", Data: []byte("png")}, transcript.Media{MIME: "video/mp4", URI: "https://h/v.mp4"},
		}},
		{Role: transcript.RoleAssistant, Finish: transcript.FinishRefusal, Parts: []transcript.Part{transcript.Text{Text: "no"}}},
		{Role: transcript.RoleAssistant, Finish: transcript.FinishCancelled, Parts: []transcript.Part{transcript.Text{Text: "stopped"}}},
	}
	s := newSessions()
	if err := s.Save(t.Context(), "x", items, nil); err != nil {
		t.Fatal(err)
	}
	for f, wants := range map[convert.Format][]string{
		convert.HTML: {
			"let me think", "ended by: max tokens", "ended by: refusal", "ended by: cancelled", "40 lines", "plan.pdf", "data:image/png;base64,cG5n", "video/mp4", `&#34;k&#34;`,
			strings.Repeat("p", 90), "…",
		},
		convert.Markdown: {"let me think", "plan.pdf", "image/png", "video/mp4", `"k"`},
		convert.Text:     {"cut", "Read", "plan.pdf", "no", "stopped"},
	} {
		page := string(export(t, s, "x", f))
		for _, want := range wants {
			if !strings.Contains(page, want) {
				t.Errorf("%s lacks %q:\n%s", f, want, page)
			}
		}
	}
}
