package audit_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/audit"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// A file that a person put back is evidence; what a file was before a call is not, whose
// end says what it changed.
func TestRewindsAreEvidence(t *testing.T) {
	s := session.New(memory.New(), nil)
	l, err := s.Create(t.Context(), session.Opened{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []session.FileSaved{
		{Use: "u", Path: "/w/a", Digest: session.FileAbsent, After: "aa"},
		{Path: "/w/a", Existed: true, Digest: "aa", After: session.FileAbsent, Omitted: "too large", Rewind: &session.Rewound{To: 1, By: "ann"}},
	} {
		d, err := f.Draft()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := l.Append(t.Context(), d); err != nil {
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
