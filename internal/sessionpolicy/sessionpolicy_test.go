package sessionpolicy

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func sessions(t *testing.T) (*session.Sessions, string) {
	t.Helper()
	s := session.New(memory.New(), nil)
	l, err := s.Create(t.Context(), session.Opened{SessionID: "s", CWD: "/w"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return s, "s"
}

func patch(globs ...string) func(*policy.Guards) (policy.Change, error) {
	return func(*policy.Guards) (policy.Change, error) {
		return policy.Change{Patch: &policy.Patch{Mode: "write", Deny: globs}, By: "ann"}, nil
	}
}

// A change is recorded and applies for the next reader of the log.
func TestChange(t *testing.T) {
	s, id := sessions(t)
	for want := 1; want <= 3; want++ {
		c, err := Change(t.Context(), s, id, patch("secrets/**"))
		if err != nil || c.Version != want {
			t.Fatalf("change %d: version %d, %v", want, c.Version, err)
		}
	}
	m, err := s.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Guards(t.Context(), s, m)
	if err != nil || g.Version() != 3 {
		t.Fatalf("the log leaves version %d, %v", g.Version(), err)
	}
}

// Concurrent changes are all recorded, each with its own version.
func TestConcurrentChanges(t *testing.T) {
	s, id := sessions(t)
	const n = 16
	var wg sync.WaitGroup
	versions := make([]int, n)
	for i := range n {
		wg.Go(func() {
			c, err := Change(t.Context(), s, id, patch("a/**"))
			if err != nil {
				t.Error(err)
			}
			versions[i] = c.Version
		})
	}
	wg.Wait()
	seen := map[int]bool{}
	for _, v := range versions {
		if v < 1 || v > n || seen[v] {
			t.Errorf("versions %v", versions)
		}
		seen[v] = true
	}
}

// A rejected change leaves no record.
func TestChangeRejected(t *testing.T) {
	s, id := sessions(t)
	stale := 7
	why := errors.New("not today")
	for _, tt := range []struct {
		name   string
		decide func(*policy.Guards) (policy.Change, error)
		want   error
	}{
		{"stale", func(*policy.Guards) (policy.Change, error) {
			return policy.Change{Mode: policy.ModePlan, IfVersion: &stale}, nil
		}, policy.ErrStale},
		{"unknown grant", func(*policy.Guards) (policy.Change, error) { return policy.Change{Revoke: "x"}, nil }, policy.ErrUnknownGrant},
		{"nothing", func(*policy.Guards) (policy.Change, error) { return policy.Change{}, nil }, policy.ErrInvalid},
		{"its own reason", func(*policy.Guards) (policy.Change, error) { return policy.Change{}, why }, why},
	} {
		if _, err := Change(t.Context(), s, id, tt.decide); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, err, tt.want)
		}
	}
	if m, err := s.Get(t.Context(), id); err != nil || m.Head != 1 {
		t.Errorf("the log ends at %d, %v", m.Head, err)
	}
	if _, err := Change(t.Context(), s, "missing", patch("a")); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("of a session that is not there: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Change(ctx, s, id, patch("a")); err == nil {
		m, _ := s.Get(t.Context(), id)
		if m.Head != 2 {
			t.Errorf("a change was returned but not recorded")
		}
	}
}

// A fork does not inherit the changes of its parent.
func TestChangesOfAFork(t *testing.T) {
	s, id := sessions(t)
	grant := policy.Change{Grant: &policy.Grant{ID: "g", Effect: policy.Allow, Tool: "Edit", Resource: "a"}}
	if _, err := Change(t.Context(), s, id, func(*policy.Guards) (policy.Change, error) { return grant, nil }); err != nil {
		t.Fatal(err)
	}
	fork, err := s.Fork(t.Context(), id, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := s.Get(t.Context(), fork)
	if err != nil {
		t.Fatal(err)
	}
	if g, err := Guards(t.Context(), s, m); err != nil || len(g.Grants()) != 0 {
		t.Errorf("the fork has the grants %v, %v", g.Grants(), err)
	}
}
