package file

import (
	"errors"
	"io/fs"
	"syscall"
	"testing"

	"github.com/holdfast-dev/holdfast/session"
)

// Acquiring, renewing or releasing a lease that did not reach the disk returns an error, and
// no two writers get the same epoch, whatever reached the disk.
func TestLeaseNotDurable(t *testing.T) {
	for _, op := range []string{"create", "write", "sync", "rename", "syncdir"} {
		for name, call := range map[string]func(s *Store, l session.Lease) error{
			"acquire": func(s *Store, l session.Lease) error {
				_, err := s.Acquire(t.Context(), "s", l, func(session.Lease) bool { return true })
				return err
			},
			"renew":   func(s *Store, l session.Lease) error { return s.Renew(t.Context(), "s", l) },
			"release": func(s *Store, l session.Lease) error { return s.Release(t.Context(), "s", l) },
		} {
			t.Run(name+", "+op, func(t *testing.T) {
				dir, broken := t.TempDir(), false
				s, err := open(dir, nil, diskOps{fault: func(o, name string) (int, error) {
					if broken && o == op {
						return 0, &fs.PathError{Op: o, Path: name, Err: syscall.EIO}
					}
					return 0, nil
				}})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { s.Close() })
				a, l := begin(t, s, "s")
				broken = true
				if err := call(s, l); err == nil {
					t.Error("nobody is told")
				}
				broken = false
				s.Close() // as the process' end does
				other := openStore(t, dir)
				taken, err := other.Acquire(t.Context(), "s", session.Lease{TTL: l.TTL}, func(held session.Lease) bool {
					return held.TTL == 0 || *held.Remaining <= 0
				})
				if err != nil || taken.Epoch <= l.Epoch {
					t.Fatalf("epoch %d after %d, %v", taken.Epoch, l.Epoch, err)
				}
				add(t, other, a, taken.Epoch, a.item("b"))
				if err := other.Append(t.Context(), "s", batchOf(l.Epoch, a.item("late"))); !errors.Is(err, session.ErrFenced) {
					t.Error(err)
				}
			})
		}
	}
}
