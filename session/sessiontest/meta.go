package sessiontest

import (
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

func testMeta(e *env) {
	w := e.createAs("s", session.Opened{Project: "p", CWD: "/src", Model: "m1", GitBranch: "main", Title: "t", Summary: "s", Tag: "g"})
	var folded session.Meta
	check := func() {
		e.Helper()
		sameMeta(e, e.meta(e.store, "s"), folded)
	}
	fold := func(recs ...session.Record) {
		d, err := session.Fold(recs)
		if err != nil {
			e.Fatal(err)
		}
		folded = folded.Apply(d)
	}
	fold(w.all[0])
	check()
	answer := transcript.Item{ID: "a", Role: transcript.RoleAssistant, Model: "m2", Parts: []transcript.Part{transcript.Text{Text: "hi"}}}
	for _, recs := range [][]session.Record{
		{w.item("the first prompt"), w.item("the second")},
		{w.next(session.KindItem, session.ItemDraft(answer.MustEncode(), false, nil).Payload)},
		{w.rename("new title")},
		{w.payload(record.KindRewrite, session.Rewrite{Reason: "truncate", TruncateAfter: "item-2", Messages: 1}), w.item("after the cut")},
		{w.next(session.KindItem, session.ItemDraft(answer.MustEncode(), true, nil).Payload)},
		{w.rename("")},
	} {
		e.append(w, recs...)
		fold(recs...)
		check()
	}
	if folded.MessageCount != 2 || folded.FirstPrompt != "the first prompt" || folded.Model != "m2" || folded.Title != "" {
		e.Fatalf("session.Fold returns another value than the test expects: %+v", folded)
	}
}

func testPutMeta(e *env) {
	r, ok := session.As[session.Rebuilder](e.store)
	if !ok {
		e.Skip("the store does not implement session.Rebuilder, which this test needs")
	}
	w := e.createAs("s", session.Opened{Title: "wrong"})
	e.append(w, w.items(3)...)
	m := e.meta(e.store, "s")
	m.Title, m.MessageCount, m.Size, m.Project, m.OpenApprovals = "right", 77, 12345, "p", 1
	if err := r.PutMeta(e.ctx(), m); err != nil {
		e.Fatal(err)
	}
	sameMeta(e, e.meta(e.store, "s"), m)
	p, err := e.store.List(e.ctx(), session.Query{Project: "p"})
	if err != nil || len(p.Sessions) != 1 {
		e.Fatalf("the list does not have the new metadata: %v %v", p, err)
	}
	if got := ids(e.list(session.Query{WithApprovals: true})); len(got) != 1 {
		e.Fatalf("the list of sessions with open approval requests does not have the new metadata: %v", got)
	}
	e.append(w, w.item("one more"))
	if got := e.meta(e.store, "s").MessageCount; got != 78 {
		e.Fatalf("MessageCount is %d after one more, want 78", got)
	}
	m.ID = "none"
	want(e, "put the metadata of a session that does not exist", r.PutMeta(e.ctx(), m), session.ErrNotFound)
}
