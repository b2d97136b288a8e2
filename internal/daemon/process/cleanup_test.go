package process

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// stuckStore is a store that rejects appends to one session.
type stuckStore struct {
	*memory.Store
	id string
}

func (s *stuckStore) Append(ctx context.Context, id string, b session.Batch) error {
	if id == s.id && b.Delta.Opened == nil {
		return errors.New("a bad block")
	}
	return s.Store.Append(ctx, id, b)
}

// One session that cannot be deleted does not keep the others.
func TestCleanContinuesAfterError(t *testing.T) {
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, "settings.json"), []byte(`{"cleanupPeriodDays": 30}`), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	sessions := session.New(&stuckStore{memory.New(), "b"}, &session.Options{Clock: clock})
	for _, id := range []string{"a", "b", "c"} {
		l, err := sessions.Create(t.Context(), session.Opened{SessionID: id})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	now = now.AddDate(0, 0, 31)
	var log bytes.Buffer
	c := &cleaner{env: &env.Env{Vars: []string{"HOME=" + home, "HOLDFAST_HOME=" + home}, Clock: clock}, sessions: sessions, log: slog.New(slog.NewTextHandler(&log, nil))}
	if err := c.clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	page, err := sessions.List(t.Context(), session.Query{})
	if err != nil || len(page.Sessions) != 1 || page.Sessions[0].ID != "b" {
		t.Errorf("%v %v", page.Sessions, err)
	}
	if !strings.Contains(log.String(), "a bad block") {
		t.Errorf("%s", log.String())
	}
}
