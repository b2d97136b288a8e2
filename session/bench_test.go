package session_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

// longSession makes a session of n items of about 1.4 KB: questions, answers
// with a tool use, results.
func longSession(tb testing.TB, s *session.Sessions, id string, n int) {
	tb.Helper()
	ctx := context.Background()
	l, err := s.Create(ctx, session.Opened{SessionID: id})
	if err != nil {
		tb.Fatal(err)
	}
	defer l.Close()
	text := strings.Repeat("words that are \"quoted\" and\nlines ", 35)
	for i := 0; i < n; {
		var drafts []session.Draft
		for range min(200, n-i) {
			it := transcript.Item{ID: fmt.Sprintf("item-%06d", i)}
			var mark *record.RequestMark
			switch i % 3 {
			case 0:
				it.Role, it.Parts = transcript.RoleUser, []transcript.Part{transcript.Text{Text: text}}
			case 1:
				it.Role, it.Model, it.Finish = transcript.RoleAssistant, "some-model", transcript.FinishToolUse
				it.Usage = &transcript.Usage{Input: 10, Output: 20, CacheRead: 30}
				it.Parts = []transcript.Part{transcript.Text{Text: text[:600]}, transcript.ToolUse{
					ID: fmt.Sprint("use-", i), Name: "Bash", Input: []byte(`{"command":"go test ./...","description":"run the tests"}`),
				}}
				mark = &record.RequestMark{API: "test", Messages: i}
			case 2:
				it = transcript.ToolResult{UseID: fmt.Sprint("use-", i-1), Content: []transcript.Part{transcript.Text{Text: text}}}.Item()
				it.ID = fmt.Sprintf("item-%06d", i)
			}
			drafts = append(drafts, session.ItemDraft(it.MustEncode(), false, mark))
			i++
		}
		if _, err := l.Append(ctx, drafts...); err != nil {
			tb.Fatal(err)
		}
	}
}

func BenchmarkReplay10000(b *testing.B) {
	ctx := context.Background()
	s := session.New(memory.New(), nil)
	longSession(b, s, "s", 10_000)
	var recs []session.Record
	for r, err := range s.Records(ctx, "s", session.Range{}) {
		if err != nil {
			b.Fatal(err)
		}
		recs = append(recs, r)
	}
	m, _ := s.Get(ctx, "s")
	b.SetBytes(m.Size)
	b.ReportAllocs()
	for b.Loop() {
		st, err := session.Replay(ctx, func(yield func(session.Record, error) bool) {
			for i := range recs {
				if !yield(recs[i], nil) {
					return
				}
			}
		})
		if err != nil || len(st.Items) != 10_000 {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B) {
	ctx := context.Background()
	l, err := session.New(memory.New(), nil).Create(ctx, session.Opened{})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	d := userDraft("x", strings.Repeat("x", 1500))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := l.Append(ctx, d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFork(b *testing.B) {
	ctx := context.Background()
	s := session.New(memory.New(), nil)
	longSession(b, s, "s", 10_000)
	for b.Loop() {
		if _, err := s.Fork(ctx, "s", nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTail50(b *testing.B) {
	ctx := context.Background()
	s := session.New(memory.New(), nil)
	longSession(b, s, "s", 10_000)
	for b.Loop() {
		if _, err := s.Load(ctx, "s", &session.LoadOptions{Limit: 50}); err != nil {
			b.Fatal(err)
		}
	}
}
