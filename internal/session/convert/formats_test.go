package convert_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/session/convert"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// write makes a file and returns its source.
func write(t *testing.T, name, content string) convert.Source {
	t.Helper()
	path := filepath.Join(t.TempDir(), "folder", name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	rewrite(t, path, content)
	return convert.Source{Path: path}
}

func rewrite(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func importSource(t *testing.T, s *session.Sessions, src convert.Source, o *convert.Options) *convert.Report {
	t.Helper()
	r, err := convert.Import(t.Context(), s, src, o)
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != convert.Skipped {
		verify(t, s, r.Session)
	}
	return r
}

// itemStrings is a transcript in short: role and text, tool uses and results by id.
func itemStrings(t *testing.T, s *session.Sessions, id string) string {
	t.Helper()
	l, err := s.Load(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, e := range l.Items {
		line := string(e.Role()) + ":" + e.Text()
		for _, u := range e.UseIDs() {
			line += "+" + u
		}
		for _, u := range e.ResultIDs() {
			line += "=" + u
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, " | ")
}

const rollout = `{"timestamp":"2026-01-01T00:00:00.000Z","type":"session_meta","payload":{"id":"0190aaaa-0000-7000-8000-000000000001","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/work","originator":"codex_cli_rs","cli_version":"0.99.0","git":{"branch":"main"}}}
{"timestamp":"2026-01-01T00:00:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"<environment_context>\n</environment_context>"}]}}
{"timestamp":"2026-01-01T00:00:02.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"look"}]}}
{"timestamp":"2026-01-01T00:00:02.000Z","type":"event_msg","payload":{"type":"user_message","message":"look"}}
{"timestamp":"2026-01-01T00:00:03.000Z","type":"turn_context","payload":{"model":"gpt-5-codex","cwd":"/work"}}
{"timestamp":"2026-01-01T00:00:04.000Z","type":"response_item","payload":{"type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"gAAA"}}
{"timestamp":"2026-01-01T00:00:05.000Z","type":"response_item","payload":{"type":"function_call","name":"shell","arguments":"{\"command\": [\"ls\"]}","call_id":"c1"}}
{"timestamp":"2026-01-01T00:00:06.000Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"a b"}}
{"timestamp":"2026-01-01T00:00:07.000Z","type":"response_item","payload":{"type":"custom_tool_call","name":"apply_patch","input":"*** Begin","call_id":"c2"}}
{"timestamp":"2026-01-01T00:00:08.000Z","type":"response_item","payload":{"type":"custom_tool_call_output","call_id":"c2","output":{"content":"bad patch","success":false}}}
{"timestamp":"2026-01-01T00:00:09.000Z","type":"response_item","payload":{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}}
{"timestamp":"2026-01-01T00:00:10.000Z","type":"ghost","payload":{"n":12345678901234567890}}
`

func TestCodex(t *testing.T) {
	s := newSessions()
	src := write(t, "rollout-x.jsonl", rollout)
	r := importSource(t, s, src, nil)
	const before = "context:<environment_context>\n</environment_context> | user:look | assistant:+c1 | tool:=c1 | assistant:+c2 | tool:=c2 | assistant:done"
	if got := itemStrings(t, s, r.Session); r.Session != "0190aaaa-0000-7000-8000-000000000001" || got != before || len(r.Warnings) > 0 {
		t.Fatalf("%s: %s\n%v", r.Session, got, r.Warnings)
	}
	m, _ := s.Get(t.Context(), r.Session)
	if m.Model != "gpt-5-codex" || m.CWD != "/work" || m.GitBranch != "main" || m.FirstPrompt != "look" {
		t.Errorf("%+v", m)
	}
	if got := export(t, s, r.Session, convert.Codex); string(got) != rollout {
		t.Errorf("exported as\n%s", got)
	}

	// The file goes on: a turn, taken back, and a compaction.
	longer := rollout + `{"timestamp":"2026-01-01T00:01:00.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"oops"}]}}
{"timestamp":"2026-01-01T00:01:01.000Z","type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}
`
	rewrite(t, src.Path, longer)
	if r := importSource(t, s, src, nil); r.Status != convert.Continued || itemStrings(t, s, r.Session) != before {
		t.Errorf("%s: %s", r.Status, itemStrings(t, s, r.Session))
	}
	longer += `{"timestamp":"2026-01-01T00:02:00.000Z","type":"compacted","payload":{"message":"it was about files"}}
{"timestamp":"2026-01-01T00:02:01.000Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"go on"}]}}
`
	rewrite(t, src.Path, longer)
	if r := importSource(t, s, src, nil); r.Status != convert.Continued || itemStrings(t, s, r.Session) != "user:it was about files | user:go on" {
		t.Errorf("%s: %s", r.Status, itemStrings(t, s, r.Session))
	}
	if got := export(t, s, r.Session, convert.Codex); string(got) != longer {
		t.Errorf("exported as\n%s", got)
	}
	if r := importSource(t, s, src, nil); r.Status != convert.Unchanged {
		t.Errorf("the third time: %s", r.Status)
	}
	rewrite(t, src.Path, strings.Replace(longer, "look", "LOOK", 1))
	if r := importSource(t, s, src, nil); r.Status != convert.Skipped || len(r.Warnings) != 1 {
		t.Errorf("changed: %s %v", r.Status, r.Warnings)
	}
}

const openAgent = `{
  "messages" : [
    {
      "content" : "hello",
      "role" : "user"
    },
    {
      "content" : [
        {
          "id" : "t1",
          "input" : {
            "n" : 12345678901234567890,
            "x" : 1.0
          },
          "name" : "Bash",
          "type" : "tool_use"
        }
      ],
      "role" : "assistant"
    },
    {"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"out","is_error":true}]}
  ],
  "metadata" : {
    "createdAt" : "2026-01-01T00:00:00.000Z",
    "cwd" : "/work",
    "id" : "my-session",
    "messageCount" : 3,
    "model" : "claude-x",
    "summary" : "a summary",
    "tag" : "t",
    "updatedAt" : "2026-01-01T00:00:09.000Z"
  }
}`

func TestOpenAgentSDK(t *testing.T) {
	s := newSessions()
	r := importSource(t, s, write(t, "transcript.json", openAgent), nil)
	if got := itemStrings(t, s, r.Session); r.Session != "my-session" || got != "user:hello | assistant:+t1 | tool:=t1" {
		t.Fatalf("%s: %s", r.Session, got)
	}
	m, err := s.Get(t.Context(), r.Session)
	if err != nil || m.CreatedAt.Format(time.RFC3339) != "2026-01-01T00:00:00Z" || m.UpdatedAt.Format(time.RFC3339) != "2026-01-01T00:00:09Z" {
		t.Errorf("created %v, updated %v, %v", m.CreatedAt, m.UpdatedAt, err)
	}
	if got := export(t, s, r.Session, convert.OpenAgentSDK); string(got) != openAgent {
		t.Errorf("exported as\n%s", got)
	}
	// What was added here is in it, too, and it can be read again.
	it := transcript.UserText("more")
	l, err := s.Open(t.Context(), r.Session, nil)
	if err != nil {
		t.Fatal(err)
	}
	it.ID = "here"
	if _, err := l.Append(t.Context(), session.ItemDraft(it.MustEncode(), false, nil)); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again := newSessions()
	r = importSource(t, again, write(t, "transcript.json", string(export(t, s, r.Session, convert.OpenAgentSDK))), nil)
	if got := itemStrings(t, again, r.Session); got != "user:hello | assistant:+t1 | tool:=t1 | user:more" {
		t.Error(got)
	}
}

// Every format that is written for a program is read again as the same transcript.
func TestBetweenFormats(t *testing.T) {
	s := newSessions()
	const want = "user:hello | assistant:+t1 | tool:=t1"
	r := importSource(t, s, write(t, "transcript.json", openAgent), nil)
	for _, f := range []convert.Format{convert.Claude, convert.Codex, convert.OpenAgentSDK, convert.JSONL} {
		again := newSessions()
		name := "x.jsonl"
		if f == convert.OpenAgentSDK {
			name = "transcript.json"
		}
		got := importSource(t, again, write(t, name, string(export(t, s, r.Session, f))), nil)
		if got.Format != f || len(got.Warnings) > 0 || itemStrings(t, again, got.Session) != want {
			t.Errorf("%s: read as %s: %s %v", f, got.Format, itemStrings(t, again, got.Session), got.Warnings)
		}
	}
}

// Records keep everything, forks their parents; a file with one byte changed is refused.
func TestRecords(t *testing.T) {
	s := newSessions()
	r := importSource(t, s, write(t, "rollout.jsonl", rollout), nil)
	if _, err := s.Fork(t.Context(), r.Session, &session.ForkOptions{ID: "fork"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Rename(t.Context(), "fork", "a fork \u2028 of \u202e it"); err != nil {
		t.Fatal(err)
	}
	file := export(t, s, "fork", convert.JSONL)
	again := newSessions()
	src := write(t, "fork.jsonl", string(file))
	if got := importSource(t, again, src, nil); got.Session != "fork" || got.Status != convert.Imported {
		t.Fatalf("%+v", got)
	}
	if got := export(t, again, "fork", convert.JSONL); !bytes.Equal(got, file) {
		t.Errorf("exported as\n%s\nwas\n%s", got, file)
	}
	if got := importSource(t, again, src, nil); got.Status != convert.Unchanged {
		t.Errorf("the second time: %s", got.Status)
	}
	for i, bad := range []string{
		strings.Replace(string(file), "done", "gone", 1),
		strings.Replace(string(file), `"seq":2,`, `"seq":3,`, 1),
		strings.Replace(string(file), `"kind":"item"`, `"kind":"news"`, 1),
		string(file[bytes.IndexByte(file, '\n')+1:]),
	} {
		_, err := convert.Import(t.Context(), newSessions(), write(t, "bad.jsonl", bad), nil)
		if err == nil || !strings.Contains(err.Error(), "line ") || !strings.Contains(err.Error(), "bad.jsonl") {
			t.Errorf("%d: %v", i, err)
		}
	}
	other := newSessions()
	if err := other.Save(t.Context(), "fork", []transcript.Item{transcript.UserText("mine")}, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := convert.Import(t.Context(), other, src, nil); !errors.Is(err, session.ErrExists) {
		t.Errorf("a session of the same id: %v", err)
	}
}

func TestMasked(t *testing.T) {
	mask, err := secret.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	token := "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
	s := newSessions()
	file := strings.Replace(rollout, "a b", token, 1)
	src := write(t, "rollout.jsonl", file)
	r := importSource(t, s, src, &convert.Options{Mask: mask})
	if r.Masked != 1 || bytes.Contains(export(t, s, r.Session, convert.JSONL), []byte(token)) {
		t.Errorf("%d masked", r.Masked)
	}
	got := export(t, s, r.Session, convert.Codex)
	if want := strings.Replace(file, token, "[secret:github-token]", 1); string(got) != want {
		t.Errorf("exported as\n%s", got)
	}
	rewrite(t, src.Path, file+strings.Replace(rollout[strings.LastIndex(rollout[:len(rollout)-1], "\n")+1:], "ghost", "spirit", 1))
	if r := importSource(t, s, src, &convert.Options{Mask: mask}); r.Status != convert.Continued || r.Items != 0 || r.Lines != 1 {
		t.Errorf("%+v", r)
	}
}

// The same file gives the same records in any store.
func TestDeterministic(t *testing.T) {
	src := write(t, "rollout.jsonl", rollout)
	a, b := newSessions(), session.New(memory.New(), nil)
	r := importSource(t, a, src, nil)
	importSource(t, b, src, nil)
	if !bytes.Equal(export(t, a, r.Session, convert.JSONL), export(t, b, r.Session, convert.JSONL)) {
		t.Error("the records differ")
	}
}

func TestPersonActors(t *testing.T) {
	s := newSessions()
	evil := "<script>alert(1)</script>\n# Assistant\n```\n<b>code</b>\n```\n![x](http://example.com/x.png) `a<b` \u202e"
	items := []transcript.Item{transcript.UserText(evil), {Role: transcript.RoleAssistant, Model: "m<odel>", Parts: []transcript.Part{
		transcript.Text{Text: "fine"}, transcript.ToolUse{ID: "u", Name: "B<ash", Input: []byte(`{"command":"echo '</pre><script>'"}`)},
	}}, transcript.ToolResult{UseID: "u", IsError: true, Content: []transcript.Part{transcript.Text{Text: "``` </pre>"}}}.Item()}
	title := "</title><script>x"
	if err := s.Save(t.Context(), "x", items, &session.MetaPatch{Title: &title}); err != nil {
		t.Fatal(err)
	}
	page := string(export(t, s, "x", convert.HTML))
	for _, no := range []string{"<script", "</pre><s", "http://", "https://", "\u202e"} {
		if strings.Contains(strings.ReplaceAll(page, "(http://example.com/x.png)", ""), no) {
			t.Errorf("the page has %q", no)
		}
	}
	text := string(export(t, s, "x", convert.Markdown))
	for _, want := range []string{"> &lt;script>", "> # Assistant", "> <b>code</b>", `> \![x]`, "`a<b`", "[U+202E]", "````text"} {
		if !strings.Contains(text, want) {
			t.Errorf("the Markdown lacks %q:\n%s", want, text)
		}
	}
	if headings := strings.Count(text, "\n## "); headings != 3 {
		t.Errorf("%d headings", headings)
	}
}

func TestRefused(t *testing.T) {
	for name, content := range map[string]string{
		"empty": "", "an array": "[1]", "text": "hello", "strange": `{"a":1}`, "cut": `{"messages":[{"role":"user","content":"x"}`,
		"no metadata": `{"messages":[]}`, "a bad message": "{\"messages\":[\n{\"role\":}],\"metadata\":{\"id\":\"x\"}}",
	} {
		s := newSessions()
		src := write(t, "transcript.json", content)
		if _, err := convert.Import(t.Context(), s, src, nil); err == nil || !strings.Contains(err.Error(), src.Path) {
			t.Errorf("%s: %v", name, err)
		}
		if p, _ := s.List(t.Context(), session.Query{}); len(p.Sessions) != 0 {
			t.Errorf("%s: a session was made", name)
		}
	}
	if err := convert.Export(t.Context(), &bytes.Buffer{}, newSessions(), "x", convert.HTML); !errors.Is(err, session.ErrNotFound) {
		t.Error(err)
	}
	if !slices.Contains(convert.Exportable(), convert.HTML) || slices.Contains(convert.Importable(), convert.HTML) {
		t.Error("pages are written and not read")
	}
}

// An invalid date is a warning in each format, and its item is imported.
func TestInvalidDatesWarn(t *testing.T) {
	for name, file := range map[string]struct{ path, text string }{
		"Open Agent SDK":          {"transcript.json", strings.Replace(openAgent, `"2026-01-01T00:00:00.000Z"`, `"yesterday"`, 1)},
		"Open Agent SDK, no text": {"transcript.json", strings.Replace(openAgent, `"2026-01-01T00:00:00.000Z"`, `1767225600`, 1)},
		"Claude Code":             {"s.jsonl", `{"type":"user","uuid":"a","parentUuid":null,"sessionId":"my-session","cwd":"/work","timestamp":"2026-13-01T00:00:00Z","message":{"role":"user","content":"hello"}}` + "\n"},
		"Codex, of the session": {"rollout-x.jsonl", `{"timestamp":"soon","type":"session_meta","payload":{"id":"my-session","cwd":"/work"}}` + "\n" +
			`{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}}` + "\n"},
		"Codex": {"rollout-x.jsonl", `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"my-session","cwd":"/work"}}` + "\n" +
			`{"timestamp":"soon","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSessions()
			r := importSource(t, s, write(t, file.path, file.text), nil)
			if !slices.ContainsFunc(r.Warnings, func(w convert.Warning) bool { return strings.Contains(w.Text, "date") }) {
				t.Errorf("warnings: %+v", r.Warnings)
			}
			if got := itemStrings(t, s, r.Session); !strings.Contains(got, "user:hello") {
				t.Errorf("it says %s", got)
			}
		})
	}
}

// A session never has a date in the future, which would make it the newest forever: such a date
// is a warning, and another date is used.
func TestDatesInTheFuture(t *testing.T) {
	const never = `"9999-01-01T00:00:00.000Z"`
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for name, file := range map[string]struct{ path, text string }{
		"Open Agent SDK, created": {"transcript.json", strings.Replace(openAgent, `"2026-01-01T00:00:00.000Z"`, never, 1)},
		"Open Agent SDK, updated": {"transcript.json", strings.Replace(openAgent, `"2026-01-01T00:00:09.000Z"`, never, 1)},
		"Claude Code":             {"s.jsonl", `{"type":"user","uuid":"a","parentUuid":null,"sessionId":"my-session","cwd":"/work","timestamp":` + never + `,"message":{"role":"user","content":"hello"}}` + "\n"},
		"Codex": {"rollout-x.jsonl", `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"my-session","cwd":"/work"}}` + "\n" +
			`{"timestamp":` + never + `,"type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hello"}]}}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSessions()
			r := importSource(t, s, write(t, file.path, file.text), &convert.Options{Clock: func() time.Time { return now }})
			if !slices.ContainsFunc(r.Warnings, func(w convert.Warning) bool { return strings.Contains(w.Text, "in the future") }) {
				t.Errorf("warnings: %+v", r.Warnings)
			}
			m, err := s.Get(t.Context(), r.Session)
			if err != nil || m.UpdatedAt.After(now) || m.CreatedAt.After(now) {
				t.Errorf("created %s, updated %s, %v", m.CreatedAt, m.UpdatedAt, err)
			}
			if got := itemStrings(t, s, r.Session); !strings.Contains(got, "user:hello") {
				t.Errorf("it says %s", got)
			}
		})
	}
}

// The digest of Holdfast's own record covers its date, so the date cannot be replaced.
func TestRecordsInFuture(t *testing.T) {
	from, to := newSessions(), newSessions()
	r := importSource(t, from, write(t, "transcript.json", openAgent), nil)
	src := write(t, "s.jsonl", string(export(t, from, r.Session, convert.JSONL)))
	early := func() time.Time { return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) }
	_, err := convert.Import(t.Context(), to, src, &convert.Options{Clock: early})
	if !errors.Is(err, session.ErrInvalid) || !strings.Contains(err.Error(), "in the future") {
		t.Errorf("%v", err)
	}
	if page, err := to.List(t.Context(), session.Query{}); err != nil || len(page.Sessions) > 0 {
		t.Errorf("%+v, %v", page, err)
	}
}

// A list of strings as content is several texts, in each format and in tool results.
func TestContentListOfStrings(t *testing.T) {
	const list = `["hello","","you"]`
	for name, file := range map[string]struct{ path, text string }{
		"Open Agent SDK": {"transcript.json", `{"messages":[{"role":"user","content":` + list + `}],"metadata":{"id":"my-session","cwd":"/work","model":"m","createdAt":"2026-01-01T00:00:00.000Z"}}`},
		"Claude Code":    {"s.jsonl", `{"type":"user","uuid":"a","parentUuid":null,"sessionId":"my-session","cwd":"/work","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":` + list + `}}` + "\n"},
		"Codex": {"rollout-x.jsonl", `{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"my-session","cwd":"/work"}}` + "\n" +
			`{"timestamp":"2026-01-01T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":` + list + `}}` + "\n"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSessions()
			r := importSource(t, s, write(t, file.path, file.text), nil)
			l, err := s.Load(t.Context(), r.Session, nil)
			if err != nil || len(l.Items) != 1 || l.Items[0].Text() != "hello\nyou" {
				t.Errorf("%+v, %v", l.Items, err)
			}
		})
	}
	parts, err := convert.Parts([]byte(`[{"type":"tool_result","tool_use_id":"t","content":` + list + `}]`))
	if err != nil || len(parts) != 1 || parts[0].(transcript.ToolResult).Text() != "hello\nyou" {
		t.Errorf("%+v, %v", parts, err)
	}
}
