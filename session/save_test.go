package session_test

import (
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

func text(id, s string) transcript.Item {
	it := transcript.UserText(s)
	it.ID = id
	return it
}

func texts(t testing.TB, s *session.Sessions, id string) string {
	t.Helper()
	var out string
	for _, e := range must(s.Load(t.Context(), id, nil))(t).Items {
		out += e.Text()
		if e.ID() == "" {
			t.Errorf("item %q has no id", e.Text())
		}
	}
	return out
}

func TestSave(t *testing.T) {
	A, B, C, X := text("a", "A"), text("b", "B"), text("c", "C"), text("x", "X")
	anonymous := func(s string) transcript.Item { return text("", s) }
	for _, c := range []struct {
		name      string
		was, save []transcript.Item
		want      string
		kinds     string
	}{
		{"nothing new", []transcript.Item{A, B}, []transcript.Item{A, B}, "AB", ""},
		{"two more", []transcript.Item{A}, []transcript.Item{A, B, C}, "ABC", "item item"},
		{"no ids, nothing new", []transcript.Item{A, B}, []transcript.Item{anonymous("A"), anonymous("B")}, "AB", ""},
		{"no ids, one more", []transcript.Item{anonymous("A")}, []transcript.Item{anonymous("A"), anonymous("A")}, "AA", "item"},
		{"shorter", []transcript.Item{A, B, C}, []transcript.Item{A}, "A", "rewrite"},
		{"empty", []transcript.Item{A, B}, nil, "", "rewrite"},
		{"one in the middle differs", []transcript.Item{A, B, C}, []transcript.Item{A, X, C}, "AXC", "rewrite"},
		{"same id, new text", []transcript.Item{A, B}, []transcript.Item{A, text("b", "b!")}, "Ab!", "rewrite"},
		{"same text, new id", []transcript.Item{A, B}, []transcript.Item{A, text("bb", "B")}, "AB", "rewrite"},
		{"from nothing", nil, []transcript.Item{A}, "A", "item"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := session.New(memory.New(), nil)
			if err := s.Save(t.Context(), "s", c.was, nil); err != nil {
				t.Fatal(err)
			}
			before := must(s.Get(t.Context(), "s"))(t)
			if err := s.Save(t.Context(), "s", c.save, nil); err != nil {
				t.Fatal(err)
			}
			if got := texts(t, s, "s"); got != c.want {
				t.Errorf("saved %q, want %q", got, c.want)
			}
			l := must(s.Open(t.Context(), "s", nil))(t)
			if got := kinds(t, l, int(l.Head()-before.Head)); got != c.kinds {
				t.Errorf("records %q, want %q", got, c.kinds)
			}
			l.Close()
			if m := must(s.Get(t.Context(), "s"))(t); m.MessageCount != len(c.save) || !m.CreatedAt.Equal(before.CreatedAt) {
				t.Errorf("%+v", m)
			}
			if r := must(s.Verify(t.Context(), "s"))(t); !r.OK() {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestSaveKeepsMetadata(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	s := session.New(memory.New(), &session.Options{Clock: func() time.Time { now = now.Add(time.Minute); return now }})
	items := []transcript.Item{text("a", "A")}
	if err := s.Save(t.Context(), "s", items, &session.MetaPatch{CWD: new("/p"), Model: new("m"), Summary: new("sum"), GitBranch: new("b")}); err != nil {
		t.Fatal(err)
	}
	first := must(s.Get(t.Context(), "s"))(t)
	if err := s.Tag(t.Context(), "s", "tag"); err != nil {
		t.Fatal(err)
	}
	answer := transcript.Item{ID: "b", Role: transcript.RoleAssistant, Model: "other", Parts: []transcript.Part{transcript.Text{Text: "B"}}}
	if err := s.Save(t.Context(), "s", append(items, answer), &session.MetaPatch{Model: new("m"), Title: new("T")}); err != nil {
		t.Fatal(err)
	}
	m := must(s.Get(t.Context(), "s"))(t)
	if m.Tag != "tag" || m.Summary != "sum" || m.CWD != "/p" || m.Model != "m" || m.Title != "T" || m.GitBranch != "b" || m.FirstPrompt != "A" {
		t.Errorf("%+v", m)
	}
	if !m.CreatedAt.Equal(first.CreatedAt) || !m.UpdatedAt.After(first.UpdatedAt) {
		t.Errorf("created %v then %v, updated %v then %v", first.CreatedAt, m.CreatedAt, first.UpdatedAt, m.UpdatedAt)
	}
	if err := s.Save(t.Context(), "s", append(items, answer), &session.MetaPatch{Tag: new("")}); err != nil {
		t.Fatal(err)
	}
	if m := must(s.Get(t.Context(), "s"))(t); m.Tag != "" || m.Title != "T" {
		t.Errorf("an empty field does not clear: %+v", m)
	}
}

func TestSaveRefuses(t *testing.T) {
	s := session.New(memory.New(), nil)
	result := transcript.ToolResult{UseID: "c"}.Item()
	use := transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.ToolUse{ID: "c", Name: "x"}}}
	for name, items := range map[string][]transcript.Item{
		"orphan":     {result},
		"unanswered": {use, text("a", "A")},
		"same id":    {text("a", "A"), text("a", "B")},
		"no role":    {{}},
	} {
		err := s.Save(t.Context(), "s", items, nil)
		wantErr(t, err, session.ErrInvalid)
		if _, err := s.Get(t.Context(), "s"); err == nil {
			t.Errorf("%s: a refused save made a session", name)
		}
	}
	wantErr(t, s.Save(t.Context(), "a/b", nil, nil), session.ErrInvalidID)
	if err := s.Save(t.Context(), "s", []transcript.Item{use}, nil); err != nil {
		t.Fatalf("a use that waits at the end: %v", err)
	}
	l := must(s.Open(t.Context(), "s", nil))(t)
	wantErr(t, s.Save(t.Context(), "s", nil, nil), session.ErrBusy)
	l.Close()
}
