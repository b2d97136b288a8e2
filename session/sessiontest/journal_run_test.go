package sessiontest_test

import (
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sessiontest"
)

func TestJournal(t *testing.T) {
	sessiontest.Run(t, func(t testing.TB) session.Store {
		j, err := openJournal(filepath.Join(t.TempDir(), "journal"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { j.Close() })
		return j
	}, sessiontest.Capabilities{})
}
