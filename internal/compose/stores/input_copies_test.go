package stores_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/stores"
	"github.com/holdfast-dev/holdfast/internal/inputlog"
	"github.com/holdfast-dev/holdfast/session"
)

// Redacting and deleting a session reach what the user sent to it in a conversation.
func TestInputIsErased(t *testing.T) {
	home := t.TempDir()
	e := &env.Env{Vars: []string{"HOLDFAST_HOME=" + home, "HOME=" + home}}
	s, err := stores.Open(t.Context(), e, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, id := range []string{"one", "two"} {
		l, err := s.Sessions.Create(t.Context(), session.Opened{SessionID: id, CWD: home})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(home, inputlog.Name)
	text := `{"text":"about rosebud","session":"one"}
{"text":"about rosebud, too"}
{"text":"about tulips","session":"one"}
{"text":"about rosebud","session":"two"}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	left := func(want ...string) {
		t.Helper()
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range strings.SplitAfter(text, "\n")[:4] {
			if got := strings.Contains(string(b), l); got != strings.Contains(strings.Join(want, " "), string(rune('0'+i))) {
				t.Errorf("line %d: %t, want %v in\n%s", i, got, want, b)
			}
		}
	}
	o := session.RedactOptions{By: "ann", Mask: func(p json.RawMessage) json.RawMessage {
		return json.RawMessage(strings.ReplaceAll(string(p), "rosebud", "[erased]"))
	}}
	dry := o
	dry.DryRun = true
	plan, err := s.Sessions.Redact(t.Context(), "one", dry)
	if err != nil || len(plan.Copies) != 1 || plan.Copies[0].Kind != "input" || plan.Copies[0].Path != file {
		t.Errorf("%+v %v", plan, err)
	}
	left("0", "1", "2", "3")
	if _, err := s.Sessions.Redact(t.Context(), "one", o); err != nil {
		t.Fatal(err)
	}
	left("2", "3")
	if err := s.Sessions.Delete(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	left("2")
}
