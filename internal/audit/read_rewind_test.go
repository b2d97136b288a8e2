package audit_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// A file that a user restored has an entry. The saved content of a file before a call has
// none, because the end of the call records the change.
func TestRewindEntries(t *testing.T) {
	s := session.New(memory.New(), nil)
	l, err := s.Create(t.Context(), session.Opened{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []record.FileSaved{
		{Use: "u", Path: "/w/a", Digest: record.FileAbsent, After: "aa"},
		{Path: "/w/a", Existed: true, Digest: "aa", After: record.FileAbsent, Omitted: "too large", Rewind: &record.Rewind{Seq: 1, By: "ann"}},
	} {
		payload, err := f.Payload()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), session.Draft{Kind: record.KindFileSaved, Payload: payload}); err != nil {
			t.Fatal(err)
		}
	}
	var list []audit.Entry
	for e, err := range audit.Read(t.Context(), s, "s", nil) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == audit.KindEffect {
			list = append(list, e)
		}
	}
	if len(list) != 1 || list[0].Action != "rewind" || list[0].Actor.Name != "ann" || list[0].Resources[0].Name != "/w/a" || list[0].Changes[0].Before != "aa" {
		t.Errorf("%+v", list)
	}
}
