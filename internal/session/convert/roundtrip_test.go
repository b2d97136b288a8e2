package convert_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdfast-dev/holdfast/internal/session/convert"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// conversations draws what a person, a model and its tools said: every call of a tool
// has its result, as providers demand.
func conversations() *rapid.Generator[[]transcript.Item] {
	words := rapid.StringMatching(`[ -~]{0,12}[a-z]\n?["\\é日\x{1F600}]{0,2}`)
	return rapid.Custom(func(t *rapid.T) []transcript.Item {
		var items []transcript.Item
		for turn := range rapid.IntRange(1, 4).Draw(t, "turns") {
			items = append(items, transcript.UserText(fmt.Sprintf("%d %s", turn, words.Draw(t, "prompt"))))
			var answer []transcript.Part
			if rapid.Bool().Draw(t, "says something") {
				answer = append(answer, transcript.Text{Text: "said " + words.Draw(t, "text")})
			}
			var results []transcript.Item
			for call := range rapid.IntRange(0, 2).Draw(t, "calls") {
				id := fmt.Sprintf("call_%d_%d", turn, call)
				input, err := json.Marshal(map[string]any{"command": words.Draw(t, "input"), "n": rapid.Int64().Draw(t, "number")})
				if err != nil {
					t.Fatal(err)
				}
				answer = append(answer, transcript.ToolUse{ID: id, Name: rapid.SampledFrom([]string{"Bash", "Read", "mcp__a__b"}).Draw(t, "tool"), Input: input})
				results = append(results, transcript.ToolResult{
					UseID: id, IsError: rapid.Bool().Draw(t, "fails"), Content: []transcript.Part{transcript.Text{Text: "out " + words.Draw(t, "result")}},
				}.Item())
			}
			if len(answer) > 0 {
				items = append(items, transcript.Item{Role: transcript.RoleAssistant, Model: "model-x", Parts: answer})
				items = append(items, results...)
			}
		}
		return items
	})
}

// spoken is all of a session that each format carries, a part per line, without how the
// parts are spread over items.
func spoken(t *testing.T, s *session.Sessions, id string) string {
	t.Helper()
	l, err := s.Load(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range l.Items {
		it, err := e.Decode()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range it.Parts {
			switch p := p.(type) {
			case transcript.Text:
				fmt.Fprintf(&b, "%s says %q\n", it.Role, p.Text)
			case transcript.ToolUse:
				fmt.Fprintf(&b, "%s calls %s %s %s\n", it.Role, p.ID, p.Name, sameSpelling(t, p.Input))
			case transcript.ToolResult:
				fmt.Fprintf(&b, "%s gives %s %q %v\n", it.Role, p.UseID, transcript.Item{Parts: p.Content}.Text(), p.IsError)
			default:
				fmt.Fprintf(&b, "%s has %T\n", it.Role, p)
			}
		}
	}
	return b.String()
}

// sameSpelling writes JSON in one way, since programs escape characters differently.
func sameSpelling(t *testing.T, v json.RawMessage) string {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(v))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// What a session says comes back through the file of any program, and the second file
// is the first one, byte for byte.
func TestFormatsCarryAConversation(t *testing.T) {
	for _, f := range []convert.Format{convert.Claude, convert.Codex, convert.OpenAgentSDK, convert.JSONL} {
		t.Run(string(f), func(t *testing.T) {
			dir := t.TempDir()
			rapid.Check(t, func(rt *rapid.T) {
				s := newSessions()
				items := conversations().Draw(rt, "conversation")
				if err := s.Save(t.Context(), "talk", items, nil); err != nil {
					rt.Fatal(err)
				}
				want := spoken(t, s, "talk")
				file := export(t, s, "talk", f)
				src := convert.Source{Path: dir + "/talk.jsonl"}
				if f == convert.OpenAgentSDK {
					src.Path = dir + "/transcript.json"
				}
				rewrite(t, src.Path, string(file))
				again := newSessions()
				r := importSource(t, again, src, nil)
				if r.Format != f || len(r.Warnings) > 0 {
					rt.Fatalf("read as %s with %q:\n%s", r.Format, r.Warnings, file)
				}
				if got := spoken(t, again, r.Session); lossless(f, got) != lossless(f, want) {
					rt.Fatalf("came back as\n%s\nwas\n%s\nin\n%s", got, want, file)
				}
				if second := export(t, again, r.Session, f); string(second) != string(file) {
					rt.Fatalf("the second file is\n%s\nthe first\n%s", second, file)
				}
			})
		})
	}
}

// lossless leaves out what a format cannot say: Codex only marks some failures.
func lossless(f convert.Format, said string) string {
	if f == convert.Codex {
		said = strings.ReplaceAll(strings.ReplaceAll(said, " true\n", "\n"), " false\n", "\n")
	}
	return said
}
