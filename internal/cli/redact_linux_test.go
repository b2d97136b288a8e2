package cli

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
	"github.com/holdfast-dev/holdfast/transcript"
)

// Before it asks, the program shows what it will erase; only "yes" erases it.
func TestRedactConfirms(t *testing.T) {
	for _, tt := range []struct {
		keys string
		code int
		want string
	}{
		{"n\r", 2, "nothing was erased"},
		{"\r", 2, "nothing was erased"},
		{"yes please\r", 2, "nothing was erased"},
		{"y\r", 0, "session s: 1 record erased"},
	} {
		dir := t.TempDir()
		store, err := sqlite.Open(filepath.Join(dir, "s.db"), nil)
		if err != nil {
			t.Fatal(err)
		}
		it := transcript.UserText("the word is rosebud \u202e\x1b[2J")
		it.ID = "i"
		s := session.New(store, nil)
		if err := s.Save(t.Context(), "s", []transcript.Item{it}, nil); err != nil {
			t.Fatal(err)
		}
		env := []string{"HOME=" + dir, "HOLDFAST_HOME=" + dir, "HOLDFAST_STORE=sqlite:" + filepath.Join(dir, "s.db"), "TERM=xterm"}
		c := startTerminal(t, env, dir, "sessions", "redact", "--seq", "2", "s")
		c.expect(` 2  item .*the word is rosebud`)
		c.expect(`permanently erase 1 record\? \[y\]es · \[n\]o: `)
		c.press(tt.keys)
		c.expect(tt.want)
		if code := c.exit(); code != tt.code || strings.Contains(c.screen(), "\u202e") {
			t.Errorf("%q: exit code %d\n%s", tt.keys, code, c.screen())
		}
		got, err := s.Load(t.Context(), "s", nil)
		if err != nil || len(got.Items) != 1 || (got.Items[0].Text() == record.Erased) != (tt.code == 0) {
			t.Errorf("%q: %+v %v", tt.keys, got, err)
		}
		store.Close()
	}
}
