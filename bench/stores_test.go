//go:build linux

package main

import (
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

func TestTakeTurns(t *testing.T) {
	var order string
	who := func(name string, took time.Duration) func() (time.Duration, error) {
		return func() (time.Duration, error) { order += name; return took, nil }
	}
	subject, control, err := takeTurns(3, who("o", 1), who("c", 2))
	if err != nil || order != "occooc" {
		t.Errorf("the order is %q, %v", order, err)
	}
	if !slices.Equal(subject, []time.Duration{1, 1, 1}) || !slices.Equal(control, []time.Duration{2, 2, 2}) {
		t.Errorf("%v and %v", subject, control)
	}
}

// Backends without a server are opened, appended to both ways, measured and opened again.
func TestPlaces(t *testing.T) {
	t.Setenv("HOLDFAST_TEST_POSTGRES", "")
	t.Setenv("HOLDFAST_TEST_MYSQL", "")
	t.Setenv("HOLDFAST_TEST_REDIS", "")
	t.Setenv("HOLDFAST_TEST_S3", "")
	b := &bench{dir: t.TempDir(), reportedMissing: true}
	for _, be := range b.availableBackends() {
		t.Run(be.name, func(t *testing.T) {
			err := b.withPlace(t.Context(), be, func(p *place) error { return tryPlace(t, p) })
			if err != nil {
				t.Error(err)
			}
		})
	}
}

func tryPlace(t *testing.T, p *place) error {
	err := withSessions(t.Context(), p, func(s *session.Sessions) error {
		log, err := s.Create(t.Context(), session.Opened{SessionID: "s"})
		if err != nil {
			return err
		}
		defer log.Close()
		_, err = log.Append(t.Context(), session.ItemDraft(item("i"), false, nil))
		return err
	})
	if err != nil || p.bare == nil {
		return err
	}
	bare, err := p.bare(t.Context())
	if err != nil {
		return err
	}
	defer bare.Close()
	for _, w := range []int{0, 1, writers - 1} {
		if err := bare.append(t.Context(), w, []byte("{}")); err != nil {
			return err
		}
	}
	if n, err := p.size(t.Context()); err != nil || n < itemBytes {
		t.Errorf("%d bytes on disk, %v", n, err)
	}
	return withSessions(t.Context(), p, func(s *session.Sessions) error {
		got, err := s.Load(t.Context(), "s", nil)
		if err == nil && len(got.Items) != 1 {
			t.Errorf("%d items", len(got.Items))
		}
		return err
	})
}

func TestServerURL(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"postgres://u:" + "p%40@h:1/d?sslmode=disable", "postgres://u:" + "p%40@h:1/d?schema=x&sslmode=disable"},
		{"redis://h:1", "redis://h:1?schema=x"},
		{"", ""},
		{"postgres://u:" + "p%zz@h/", ""},
	} {
		t.Setenv("HOLDFAST_TEST_POSTGRES", tt.text)
		u, err := serverURL("postgres")
		if tt.want == "" {
			if err == nil || err.Error() != "HOLDFAST_TEST_POSTGRES is no URL of a server" {
				t.Errorf("%q: %v", tt.text, err)
			}
			continue
		}
		if err != nil || withParams(u, "schema", "x") != tt.want {
			t.Errorf("%q: %v", tt.text, err)
		}
		if _, err := url.Parse(withParams(u)); err != nil {
			t.Error(err)
		}
	}
}

func TestGoal(t *testing.T) {
	if goalAtMost(1.5, "×", 1.5) != "≤ 1.5 ×" || goalAtMost(40, "MB", 40.1) != "≤ 40 MB MISSED" || goalAtLeast(2, "×", 1.9) != "≥ 2 × MISSED" {
		t.Error("wrong text of a limit")
	}
	if goal("≤ 5 ms", true) != "≤ 5 ms" || goal("≤ 5 ms", false) != "≤ 5 ms MISSED" {
		t.Error("a goal does not report whether it is met")
	}
	if got := quartiles([]float64{1.3, 1.1, 1.2}, "×"); got != "1.20 × (1.15 to 1.25)" {
		t.Error(got)
	}
}
