package runlog

import (
	"errors"
	"testing"

	"github.com/holdfast-dev/holdfast/daemon/api"
	"github.com/holdfast-dev/holdfast/internal/daemon/wire"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

func sessions(t *testing.T) *session.Sessions {
	t.Helper()
	s := session.New(memory.New(), nil)
	l, err := s.Create(t.Context(), session.Opened{SessionID: "s"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return s
}

// A spec is on record once, until it changes.
func TestDescribe(t *testing.T) {
	s := sessions(t)
	if spec, err := Spec(t.Context(), s, "s"); spec != nil || err != nil {
		t.Fatalf("%+v, %v", spec, err)
	}
	heads := map[int64]bool{}
	for _, model := range []string{"a/b", "a/b", "a/c"} {
		if err := Describe(t.Context(), s, "s", &runspec.Spec{Model: model, Cwd: "/w"}, "ann"); err != nil {
			t.Fatal(err)
		}
		spec, err := Spec(t.Context(), s, "s")
		if err != nil || spec.Model != model {
			t.Errorf("%+v, %v", spec, err)
		}
		m, err := s.Get(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		heads[m.Head] = true
	}
	if len(heads) != 2 {
		t.Errorf("%d records", len(heads))
	}
	if err := Describe(t.Context(), s, "nobody", &runspec.Spec{}, "ann"); !errors.Is(err, session.ErrNotFound) {
		t.Error(err)
	}
}

// A change of status needs the status that it expects.
func TestAppend(t *testing.T) {
	s := sessions(t)
	start := wire.RunEvent{Event: wire.RunStarted, Status: api.StatusRunning, Strategy: &wire.StrategyInfo{}}
	if _, err := Append(t.Context(), s, "s", start); err != nil {
		t.Fatal(err)
	}
	if _, err := Append(t.Context(), s, "s", start, api.StatusCompleted); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
	if seq, err := Append(t.Context(), s, "s", start, api.StatusRunning); err != nil || seq != 3 {
		t.Errorf("%d, %v", seq, err)
	}
	if spec, err := Spec(t.Context(), s, "s"); err == nil {
		t.Errorf("of several agents: %+v", spec)
	}
}
