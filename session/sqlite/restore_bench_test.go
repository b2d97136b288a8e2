package sqlite_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// worked makes a session of turns in which an agent changes three files each, compacted
// every 50 turns.
func worked(b *testing.B, s *session.Sessions, id string, turns int) {
	b.Helper()
	l, err := s.Create(b.Context(), session.Opened{SessionID: id})
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	content := make([]byte, 6<<10)
	var drafts []session.Draft
	var items []json.RawMessage
	put := func(kind session.Kind, payload any) {
		d, err := session.NewDraft(kind, payload)
		if err != nil {
			b.Fatal(err)
		}
		drafts = append(drafts, d)
	}
	say := func(it transcript.Item) {
		it.ID = fmt.Sprint("item-", l.Head(), "-", len(drafts))
		e := it.MustEncode()
		drafts = append(drafts, session.ItemDraft(e, false, nil))
		items = append(items, e.JSON)
	}
	text := transcript.Text{Text: strings.Repeat("some words, ", 30)}
	for turn := range turns {
		put(record.KindTurnOpened, record.TurnOpened{Turn: fmt.Sprint(turn)})
		say(transcript.Item{Role: transcript.RoleUser, Parts: []transcript.Part{text}})
		for i := range 3 {
			use := fmt.Sprint("use-", turn, "-", i)
			say(transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{text, transcript.ToolUse{ID: use, Name: "Edit", Input: []byte(`{}`)}}})
			put(record.KindToolStarted, record.ToolStarted{Use: use, Tool: "Edit"})
			for j := range content {
				content[j] = byte(turn*j*j>>3 + i)
			}
			saved := record.FileSaved{Use: use, Path: "/src/file.go"}
			saved.Describe(0o644, int64(len(content)), session.Digest(sha256.Sum256(content)).String())
			saved.SetContent(content, nil)
			payload, err := saved.Payload()
			if err != nil {
				b.Fatal(err)
			}
			drafts = append(drafts, session.Draft{Kind: record.KindFileSaved, Payload: payload})
			put(record.KindToolFinished, record.ToolFinished{Use: use})
			say(transcript.ToolResult{UseID: use, Content: []transcript.Part{text}}.Item())
		}
		say(transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{text}})
		put(record.KindTurnClosed, record.TurnClosed{Turn: fmt.Sprint(turn)})
		if turn%50 == 49 {
			items = items[len(items)-40:]
			put(record.KindRewrite, session.Rewrite{Reason: "compact", Items: items, Messages: len(items)})
		}
		if _, err := l.Append(b.Context(), drafts...); err != nil {
			b.Fatal(err)
		}
		drafts = nil
	}
}

// Going on with a session costs by its log, of which all is read and checked, however short
// compaction keeps the transcript.
func BenchmarkRestore(b *testing.B) {
	for _, turns := range []int{50, 250, 500} {
		b.Run(fmt.Sprint(turns), func(b *testing.B) {
			s := session.New(open(b, filepath.Join(memoryDir(b), "sessions.db")), nil)
			worked(b, s, "s", turns)
			m, err := s.Get(b.Context(), "s")
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(m.Size)
			b.ReportAllocs()
			for b.Loop() {
				r, err := s.Restore(b.Context(), session.RestoreOptions{SessionID: "s"})
				if err != nil {
					b.Fatal(err)
				}
				if err := r.Log.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(m.Head), "records")
		})
	}
}
