package hooktranscript

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/transcript"
)

// conversation has one item of each kind.
func conversation() []transcript.Encoded {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	items := []transcript.Item{
		{ID: "s", Role: transcript.RoleSystem, Parts: []transcript.Part{transcript.Text{Text: "be good"}}},
		{ID: "u", Role: transcript.RoleUser, Time: at, Parts: []transcript.Part{transcript.Text{Text: "read \"it\"\n"}}},
		{
			ID: "a", Role: transcript.RoleAssistant, Time: at, Model: "m-1", Finish: transcript.FinishToolUse, Usage: &transcript.Usage{Input: 5, Output: 7, CacheRead: 2},
			Parts: []transcript.Part{
				transcript.Thinking{Text: "hm", Signature: "sig"},
				transcript.Thinking{Redacted: true, Data: "zz"},
				transcript.Text{Text: "I read."},
				transcript.ToolUse{ID: "t1", Name: "Read", Input: []byte(`{"file_path":"/x"}`)},
				transcript.ToolUse{ID: "t2", Name: "Shot", Input: []byte(`{}`)},
			},
		},
		{ID: "r1", Role: transcript.RoleTool, Parts: []transcript.Part{transcript.ToolResult{UseID: "t1", Content: []transcript.Part{transcript.Text{Text: "one"}, transcript.Text{Text: "two"}}}}},
		{ID: "r2", Role: transcript.RoleTool, Parts: []transcript.Part{transcript.ToolResult{UseID: "t2", IsError: true, Content: []transcript.Part{
			transcript.Text{Text: "see"}, transcript.Media{MIME: "image/png", Data: []byte("png")}, transcript.File{URI: "https://x/y.pdf"},
		}}}},
		{ID: "n", Role: transcript.RoleNotification, Parts: []transcript.Part{transcript.Text{Text: "a file changed"}}},
		{ID: "o", Role: transcript.RoleUser, Parts: []transcript.Part{transcript.Structured{Value: []byte(`{"k":1}`)}, transcript.Custom{Kind: "mine", Value: []byte(`1`)}}},
		{ID: "z", Role: transcript.RoleAssistant, Finish: transcript.FinishStop, Parts: []transcript.Part{transcript.Text{Text: "done"}}},
	}
	var list []transcript.Encoded
	for _, it := range items {
		list = append(list, it.MustEncode())
	}
	return list
}

func TestMirror(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	m, err := New(dir, &Options{CWD: "/w", Clock: func() time.Time { return time.Unix(0, 0) }})
	if err != nil {
		t.Fatal(err)
	}
	list := conversation()
	if err := m.Load("s1", list[:3]); err != nil {
		t.Fatal(err)
	}
	for _, e := range list[3:] {
		if err := m.ItemAppended("s1", e); err != nil {
			t.Fatal(err)
		}
	}
	b, err := os.ReadFile(m.Path())
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	const head = `"isSidechain":false,"userType":"external","cwd":"/w","sessionId":"s1",`
	want := []string{
		`{"parentUuid":null,` + head + `"type":"user","message":{"role":"user","content":[{"type":"text","text":"read \"it\"\n"}]},"uuid":"u","timestamp":"2026-01-02T03:04:05.006Z"}`,
		`{"parentUuid":"u",` + head + `"type":"assistant","message":{"id":"a","type":"message","role":"assistant","model":"m-1","content":[{"type":"thinking","thinking":"hm","signature":"sig"},` +
			`{"type":"redacted_thinking","data":"zz"},{"type":"text","text":"I read."},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/x"}},{"type":"tool_use","id":"t2","name":"Shot","input":{}}],` +
			`"stop_reason":"tool_use","usage":{"input_tokens":5,"cache_creation_input_tokens":0,"cache_read_input_tokens":2,"output_tokens":7}},"uuid":"a","timestamp":"2026-01-02T03:04:05.006Z"}`,
		`{"parentUuid":"a",` + head + `"type":"user","message":{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"one\ntwo","is_error":false}]},"uuid":"r1","timestamp":"1970-01-01T00:00:00.000Z"}`,
		`{"parentUuid":"r1",` + head + `"type":"user","message":{"role":"user","content":[{"tool_use_id":"t2","type":"tool_result","content":[{"type":"text","text":"see"},` +
			`{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}},{"type":"document","source":{"type":"url","url":"https://x/y.pdf"}}],"is_error":true}]},"uuid":"r2","timestamp":"1970-01-01T00:00:00.000Z"}`,
		`{"parentUuid":"r2",` + head + `"type":"user","message":{"role":"user","content":[{"type":"text","text":"a file changed"}]},"isMeta":true,"uuid":"n","timestamp":"1970-01-01T00:00:00.000Z"}`,
		`{"parentUuid":"n",` + head + `"type":"user","message":{"role":"user","content":[{"type":"text","text":"{\"k\":1}"},{"type":"text","text":"[mine]"}]},"uuid":"o","timestamp":"1970-01-01T00:00:00.000Z"}`,
		`{"parentUuid":"o",` + head + `"type":"assistant","message":{"id":"z","type":"message","role":"assistant","content":[{"type":"text","text":"done"}],"stop_reason":"end_turn"},"uuid":"z","timestamp":"1970-01-01T00:00:00.000Z"}`,
	}
	if len(lines) != len(want) {
		t.Fatalf("there are %d lines:\n%s", len(lines), b)
	}
	for i := range want {
		if lines[i] != want[i] {
			t.Errorf("line %d is\n%s\nwant\n%s", i, lines[i], want[i])
		}
	}
	for name, mode := range map[string]os.FileMode{m.Path(): 0o600, dir: 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	for range 2 {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := m.ItemAppended("s1", list[1]); err == nil {
		t.Error("it writes after its end")
	}
}

func TestMirrorNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"../x", "a/b", ".", "..", "/x"} {
		if m, err := New(dir, &Options{Name: name}); err == nil {
			t.Errorf("%q is taken: %s", name, m.Path())
		}
	}
	for range 2 { // the second empties the file
		m, err := New(dir, &Options{Name: "t.jsonl"})
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Load("s", conversation()[1:2]); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(filepath.Join(dir, "t.jsonl"))
		if err != nil || strings.Count(string(b), "\n") != 1 {
			t.Errorf("%q, %v", b, err)
		}
		m.Close()
	}
	one, err := New(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	two, err := New(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer two.Close()
	if one.Path() == two.Path() || !filepath.IsAbs(one.Path()) {
		t.Errorf("%s, %s", one.Path(), two.Path())
	}
}

func BenchmarkMirror(b *testing.B) {
	m, err := New(b.TempDir(), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	e := conversation()[2]
	b.ReportAllocs()
	for b.Loop() {
		if err := m.ItemAppended("s1", e); err != nil {
			b.Fatal(err)
		}
	}
}
