package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// fuzzImport checks that importing never panics, and that what was imported verifies and is
// exported unchanged.
func fuzzImport(f *testing.F, format Format, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s))
	}
	path := filepath.Join(f.TempDir(), "x.jsonl")
	f.Fuzz(func(t *testing.T, file []byte) {
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		s := session.New(memory.New(), nil)
		r, err := Import(t.Context(), s, Source{Path: path, Format: format, ID: "x"}, nil)
		if err != nil || r.Status != Imported {
			return
		}
		report, err := s.Verify(t.Context(), r.Session)
		if err != nil || !report.OK() {
			t.Fatalf("%v, %+v", err, report)
		}
		var out bytes.Buffer
		if err := Export(t.Context(), &out, s, r.Session, format); err != nil {
			t.Fatal(err)
		}
		cut := len(r.Warnings) > 0 && strings.Contains(r.Warnings[0].Text, "incomplete")
		if got := out.Bytes(); format != JSONL && !cut && !bytes.Equal(got, file) && r.More == 0 && !hasCut(r) {
			t.Fatalf("exported as %q, was %q", got, file)
		}
		for _, f := range []Format{Markdown, HTML, Text, Claude, Codex, OpenAgentSDK} {
			if err := Export(t.Context(), &out, s, r.Session, f); err != nil {
				t.Fatalf("%s: %v", f, err)
			}
		}
	})
}

func hasCut(r *Report) bool {
	for _, w := range r.Warnings {
		if strings.Contains(w.Text, "incomplete") {
			return true
		}
	}
	return false
}

func FuzzClaude(f *testing.F) {
	const head = `{"type":"user","uuid":"a","message":{"content":"hi"}}` + "\n"
	fuzzImport(f, Claude, head,
		head+`{"type":"assistant","uuid":"b","parentUuid":"a","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"x","input":{}}]}}`+"\n"+
			`{"type":"user","uuid":"c","parentUuid":"b","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}]}}`,
		head+`{"type":"system","subtype":"compact_boundary","uuid":"b","logicalParentUuid":"a"}`+"\n"+`{"type":"user","uuid":"c","parentUuid":"b","message":{"content":"s"}}`,
		`{"type":"user","uuid":"a","parentUuid":"a","message":{"content":[]}}`+"\n\n{", `{"type" : "summary"}`)
}

func FuzzCodex(f *testing.F) {
	fuzzImport(f, Codex, `{"type":"session_meta","payload":{"id":"x"}}`+"\n"+`{"type":"response_item","payload":{"type":"function_call","call_id":"c","arguments":"{}"}}`,
		`{"id":"x","timestamp":"2025-01-01T00:00:00Z"}`+"\n"+`{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}`,
		`{"type":"compacted","payload":{"message":"m","replacement_history":[{"type":"message","role":"user","content":"a"}]}}`+"\n"+`{"type":"event_msg","payload":{"type":"thread_rolled_back","num_turns":1}}`)
}

func FuzzOpenAgentSDK(f *testing.F) {
	fuzzImport(f, OpenAgentSDK, `{"messages":[{"role":"user","content":"x"} , {"role":"odd"}],"metadata":{"id":"x"}}`, `{"metadata":{"messages":[1]},"messages" : [ ] }`, `{"messages":[`)
}

func FuzzRecords(f *testing.F) {
	fuzzImport(f, JSONL, `{"seq":1,"id":"a","time":"2026-01-01T00:00:00Z","kind":"session.opened","payload":{},"prev":"","body":"","digest":""}`)
}

func FuzzDetect(f *testing.F) {
	f.Add([]byte(`{"type":"user","payload`))
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, err := detectFormat(bytes.NewReader(b)); (got == "") == (err == nil) {
			t.Fatal(got, err)
		}
	})
}

// What check says is what encoding/json says.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{`{"a":[1,-0.5e+3,"\u00e9\\"]}`, ` null `, `"aaaaaaaaaaaaaaaa\"aaaaaaaaaaaaaaaaaaa"`, "\"aaaaaaaaaa\x01\"", `[01]`, `{"a":1,}`, `-`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		valid, compact := check(b)
		if want := json.Valid(b); valid != want && bytes.Count(b, []byte("["))+bytes.Count(b, []byte("{")) < maxDepth {
			t.Fatalf("%q: %v, want %v", b, valid, want)
		}
		if !valid {
			members(b, func(string, []byte) bool { return true })
			elements(b, func([]byte) bool { return true })
			topKeys(b)
			return
		}
		var c bytes.Buffer
		if err := json.Compact(&c, b); err != nil || compact != bytes.Equal(c.Bytes(), b) {
			t.Fatalf("%q: compact %v, %v", b, compact, err)
		}
		var want map[string]json.RawMessage
		if json.Unmarshal(b, &want) == nil && want != nil {
			got := map[string]json.RawMessage{}
			members(b, func(key string, v []byte) bool { got[key] = v; return true })
			if len(got) != len(want) {
				t.Fatalf("%q: %d members, want %d", b, len(got), len(want))
			}
			for k, v := range got {
				if !bytes.Equal(v, want[k]) {
					t.Fatalf("%q: %q is %q, want %q", b, k, v, want[k])
				}
			}
		}
	})
}

func TestErrorsAreNamed(t *testing.T) {
	_, err := Find(filepath.Join(t.TempDir(), "x"), "odd")
	if !errors.Is(err, session.ErrInvalid) {
		t.Error(err)
	}
}
