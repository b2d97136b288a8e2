package file

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// An append to a log that was removed, before or during the append, is not acknowledged. The
// session is then damaged, or the store must be reopened.
func TestRemovedLog(t *testing.T) {
	for name, remove := range map[string]func(dir string) error{
		"log":            func(dir string) error { return os.Remove(filepath.Join(dir, "A", logName)) },
		"session":        func(dir string) error { return os.RemoveAll(filepath.Join(dir, "A")) },
		"store":          os.RemoveAll,
		"store moved":    func(dir string) error { return os.Rename(dir, dir+".old") },
		"store replaced": func(dir string) error { return errors.Join(os.Rename(dir, dir+".old"), os.Mkdir(dir, 0o700)) },
	} {
		for _, meanwhile := range []bool{false, true} {
			t.Run(name+map[bool]string{true: " meanwhile"}[meanwhile], func(t *testing.T) {
				dir := filepath.Join(fastDir(t), "store")
				var during func() error
				s, err := open(dir, nil, diskOps{fault: func(op, _ string) (int, error) {
					if f := during; f != nil && op == "sync" {
						during = nil
						return 0, f()
					}
					return 0, nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				l, err := session.New(s, nil).Create(t.Context(), session.Opened{SessionID: "A"})
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				note := func(text string) error {
					_, err := l.Append(t.Context(), session.ItemDraft(transcript.UserText(text).MustEncode(), false, nil))
					return err
				}
				if err := note("one"); err != nil {
					t.Fatal(err)
				}
				if take := func() error { return remove(dir) }; meanwhile {
					during = take
				} else if err := take(); err != nil {
					t.Fatal(err)
				}
				for range 2 {
					if err := note("two"); err == nil {
						t.Error("acknowledged")
					} else {
						t.Log(err)
					}
				}
			})
		}
	}
}
