package convert_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/corpus"
	"github.com/holdfast-dev/holdfast/internal/session/convert"
)

// The cases of the Open Agent SDK's transcript.json. A file without metadata is imported with
// what it has: the messages do not need it.
func TestCorpusOfTheSeedsFormat(t *testing.T) {
	lacks := func(key string) func(*testing.T, corpus.Case) {
		return func(t *testing.T, _ corpus.Case) {
			lines := strings.Split(openAgent, "\n")
			for i, l := range lines {
				if strings.Contains(l, `"`+key+`"`) {
					lines = append(lines[:i:i], lines[i+1:]...)
					break
				}
			}
			s := newSessions()
			r := importSource(t, s, write(t, "transcript.json", strings.Join(lines, "\n")), nil)
			if got := itemStrings(t, s, r.Session); !strings.HasPrefix(got, "user:hello") {
				t.Errorf("it reads %s", got)
			}
		}
	}
	written := func(t *testing.T, given string) map[string]any {
		t.Helper()
		s := newSessions()
		r := importSource(t, s, write(t, "transcript.json", given), nil)
		var doc struct {
			Messages []map[string]any
			Metadata map[string]any
		}
		if err := json.Unmarshal(export(t, s, r.Session, convert.OpenAgentSDK), &doc); err != nil || len(doc.Messages) == 0 {
			t.Fatal(err)
		}
		return doc.Metadata
	}
	handled := map[string]func(*testing.T, corpus.Case){
		"session_store-007": func(t *testing.T, _ corpus.Case) {
			m := written(t, openAgent)
			for _, key := range []string{"id", "cwd", "model", "createdAt", "updatedAt", "messageCount"} {
				if m[key] == nil {
					t.Errorf("there is no %s in %v", key, m)
				}
			}
			if at, _ := m["createdAt"].(string); at != "2026-01-01T00:00:00.000Z" {
				t.Errorf("createdAt is %s", at)
			}
		},
		"session_store-008": func(t *testing.T, _ corpus.Case) {
			m := written(t, strings.NewReplacer(`"summary" : "a summary",`, "", `"tag" : "t",`, "").Replace(openAgent))
			for _, key := range []string{"summary", "tag", "gitBranch"} {
				if _, is := m[key]; is {
					t.Errorf("%s is there: %v", key, m[key])
				}
			}
		},
		"session_store-010": func(t *testing.T, _ corpus.Case) {
			s := newSessions()
			r := importSource(t, s, write(t, "transcript.json", strings.ReplaceAll(openAgent, ".000Z", "Z")), nil)
			m, err := s.Get(t.Context(), r.Session)
			if err != nil || m.CreatedAt.Year() != 2026 {
				t.Errorf("%+v: %v", m.CreatedAt, err)
			}
		},
		"session_store-022": lacks("cwd"), "session_store-023": lacks("model"),
		"session_store-024": lacks("createdAt"), "session_store-026": lacks("messageCount"),
		// What is not a message is stored as unmapped; it contains nothing of the
		// conversation.
		"session_store-030": func(t *testing.T, _ corpus.Case) {
			for _, messages := range []string{`"hi"`, `{"a":1}`, `["hi"]`, `[1]`} {
				s := newSessions()
				r := importSource(t, s, write(t, "transcript.json", `{"messages":`+messages+`,"metadata":{"id":"x"}}`), nil)
				if got := itemStrings(t, s, r.Session); got != "" {
					t.Errorf("%s: it reads %s", messages, got)
				}
			}
		},
	}
	cases := map[string]bool{}
	for _, c := range corpus.Area(t, "open-agent-sdk.json", "session_store") {
		if run := handled[c.ID]; run != nil {
			cases[c.ID] = true
			t.Run(c.ID, func(t *testing.T) { run(t, c) })
		}
	}
	if len(cases) != len(handled) {
		t.Errorf("%d of %d cases are there", len(cases), len(handled))
	}
}
