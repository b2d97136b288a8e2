package session_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/transcript"
)

func resultOf(id, use, text string) transcript.Encoded {
	it := transcript.ToolResult{UseID: use, Content: []transcript.Part{transcript.Text{Text: text}}}.Item()
	it.ID = id
	return it.MustEncode()
}

// reads are the records of a session in which a is read twice and b written: 1 opened,
// 2 prompt, 3 call, 4 and 5 a read, 6 call, 7 and 8 b written, 9 call, 10 and 11 a read again.
func reads(t *testing.T) []session.Draft {
	t.Helper()
	calls := func(id, use string) session.Draft {
		return session.ItemDraft(transcript.Item{ID: id, Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.ToolUse{ID: use, Name: "T"}}}.MustEncode(), false, nil)
	}
	return []session.Draft{
		userDraft("u", "hi"),
		calls("a1", "c1"),
		draft(t, record.KindToolFinished, record.ToolFinished{Use: "c1", Tool: "Read", FilesShown: []record.FileShown{{Path: "/a", Digest: "one"}}}),
		session.ItemDraft(resultOf("r1", "c1", "1"), false, nil),
		calls("a2", "c2"),
		draft(t, record.KindToolFinished, record.ToolFinished{Use: "c2", Tool: "Write", Changes: []record.FileChange{{Path: "/b", Before: "absent", After: "new"}}}),
		session.ItemDraft(resultOf("r2", "c2", "2"), false, nil),
		calls("a3", "c3"),
		draft(t, record.KindToolFinished, record.ToolFinished{Use: "c3", Tool: "Read", FilesShown: []record.FileShown{{Path: "/a", Digest: "two"}}}),
		session.ItemDraft(resultOf("r3", "c3", "3"), false, nil),
	}
}

func TestShownFiles(t *testing.T) {
	items := func(st *session.State) (list []rawJSON) {
		for _, e := range st.Items {
			list = append(list, rawJSON(e.JSON))
		}
		return list
	}
	a1, a2, b := record.FileShown{Path: "/a", Digest: "one"}, record.FileShown{Path: "/a", Digest: "two"}, record.FileShown{Path: "/b", Digest: "new"}
	for name, c := range map[string]struct {
		then func(t *testing.T, s *session.Sessions, st *session.State) (id string)
		want []record.FileShown
	}{
		"the newest counts": {nil, []record.FileShown{a2, b}},
		"a cut": {func(t *testing.T, s *session.Sessions, _ *session.State) string {
			rewriteOf(t, s, session.Rewrite{Reason: "truncate", TruncateAfter: "r2"})
			return "s"
		}, []record.FileShown{a1, b}},
		"a return to before": {func(t *testing.T, s *session.Sessions, _ *session.State) string {
			must(s.RewindTo(t.Context(), "s", 2, "test"))(t)
			return "s"
		}, nil},
		"a compaction": {func(t *testing.T, s *session.Sessions, st *session.State) string {
			rewriteOf(t, s, session.Rewrite{Reason: "compaction", Items: append([]rawJSON{item("summary")}, items(st)[3:5]...)})
			return "s"
		}, []record.FileShown{b}},
		"a result that was shortened": {func(t *testing.T, s *session.Sessions, st *session.State) string {
			list := items(st)
			list[6] = resultOf("r3", "c3", "cleared").JSON
			rewriteOf(t, s, session.Rewrite{Reason: "m", Items: list})
			return "s"
		}, []record.FileShown{a1, b}},
		"a compaction that was taken back": {func(t *testing.T, s *session.Sessions, st *session.State) string {
			rewriteOf(t, s, session.Rewrite{Reason: "compaction", Items: []rawJSON{item("summary")}})
			must(s.RewindTo(t.Context(), "s", 11, "test"))(t)
			return "s"
		}, []record.FileShown{a2, b}},
		"a fork": {func(t *testing.T, s *session.Sessions, _ *session.State) string {
			return must(s.Fork(t.Context(), "s", &session.ForkOptions{ItemID: "r1"}))(t)
		}, []record.FileShown{a1}},
		"a fork without the result": {func(t *testing.T, s *session.Sessions, _ *session.State) string {
			return must(s.Fork(t.Context(), "s", &session.ForkOptions{Seq: 10}))(t)
		}, []record.FileShown{a1, b}},
		"what was erased": {func(t *testing.T, s *session.Sessions, _ *session.State) string {
			must(s.Redact(t.Context(), "s", session.RedactOptions{Seqs: []int64{11}}))(t)
			return "s"
		}, []record.FileShown{a1, b}},
	} {
		t.Run(name, func(t *testing.T) {
			s := session.New(memory.New(), nil)
			l := must(s.Create(t.Context(), session.Opened{SessionID: "s"}))(t)
			must(l.Append(t.Context(), reads(t)...))(t)
			st := must(l.Snapshot(t.Context()))(t)
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			id := "s"
			if c.then != nil {
				id = c.then(t, s, st)
			}
			for range 2 { // the second reads what the first has mended
				r := must(s.Restore(t.Context(), session.RestoreOptions{SessionID: id}))(t)
				if err := r.Log.Close(); err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(c.want, r.State.ShownFiles, cmpopts.EquateEmpty(), cmpopts.SortSlices(func(a, b record.FileShown) bool { return a.Path < b.Path })); d != "" {
					t.Error(d)
				}
			}
		})
	}
}

func rewriteOf(t *testing.T, s *session.Sessions, w session.Rewrite) {
	t.Helper()
	l := must(s.Open(t.Context(), "s", nil))(t)
	defer l.Close()
	if err := l.Rewrite(t.Context(), w); err != nil {
		t.Fatal(err)
	}
}
