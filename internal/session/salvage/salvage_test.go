package salvage

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

const (
	sessionsMade = 12
	recordsEach  = 40 // besides the first
)

// made makes a store, some records of which fill several pages, and returns its file. An open one
// has a part of it in its write-ahead log.
func made(t *testing.T, open bool) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sessions.db")
	store, err := sqlite.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	all, ctx := session.New(store, nil), t.Context()
	for n := range sessionsMade {
		l, err := all.Create(ctx, session.Opened{SessionID: fmt.Sprintf("s-%02d", n), CWD: "/w"})
		if err != nil {
			t.Fatal(err)
		}
		for i := range recordsEach {
			title := strings.Repeat(fmt.Sprintf("%d/%d ", n, i), 1+i%20*i%20*10)
			d, err := session.NewDraft("meta.changed", session.MetaPatch{Title: &title})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := l.Append(ctx, d); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if !open {
		return path
	}
	copied := filepath.Join(t.TempDir(), "sessions.db")
	for _, end := range []string{"", "-wal"} {
		b, err := os.ReadFile(path + end)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(copied+end, b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return copied
}

// whole says how many sessions of a store are whole, and how many are damaged.
func whole(t *testing.T, path string) (good, bad int) {
	t.Helper()
	store, err := sqlite.Open(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	all, ctx := session.New(store, nil), t.Context()
	page, err := all.List(ctx, session.Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range page.Sessions {
		r, err := all.Verify(ctx, m.ID)
		if err != nil {
			t.Fatalf("%s: %v", m.ID, err)
		}
		if !r.OK() || m.Head != recordsEach+1 {
			bad++
			continue
		}
		good++
		l, err := all.Open(ctx, m.ID, nil) // and one may go on with it
		if err != nil {
			t.Fatalf("%s: %v", m.ID, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return good, bad
}

// overwrite puts 4 kB of other bytes into a file.
func overwrite(t *testing.T, path string, at int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(bytes.Repeat([]byte{0xa5, 0x5a, 0x0d, 0x00}, 1024), at)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestSalvage(t *testing.T) {
	size := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	for name, tt := range map[string]struct {
		open   bool
		damage func(path string)
		good   int // sessions that are whole at least
	}{
		"the first page":            {false, func(p string) { overwrite(t, p, 0) }, sessionsMade},
		"the header":                {false, func(p string) { truncateHead(t, p) }, sessionsMade},
		"a page in the middle":      {false, func(p string) { overwrite(t, p, size(p)/2/4096*4096) }, sessionsMade - 3},
		"across two pages":          {false, func(p string) { overwrite(t, p, size(p)/3/4096*4096+1000) }, sessionsMade - 4},
		"roots of the tables":       {false, func(p string) { overwrite(t, p, 4096); overwrite(t, p, 10*4096) }, 0},
		"the second half":           {false, func(p string) { _ = os.Truncate(p, size(p)/2) }, 1},
		"an end within a page":      {false, func(p string) { _ = os.Truncate(p, size(p)-1500) }, sessionsMade - 2},
		"the first page, in use":    {true, func(p string) { overwrite(t, p, 0) }, sessionsMade},
		"the header, in use":        {true, func(p string) { truncateHead(t, p) }, sessionsMade},
		"the log torn":              {true, func(p string) { truncateHead(t, p); _ = os.Truncate(p+"-wal", size(p+"-wal")/2) }, 1},
		"several places":            {false, func(p string) { overwrite(t, p, 5*4096); overwrite(t, p, 40*4096); overwrite(t, p, 80*4096+100) }, 1},
		"only the index of a table": {false, func(p string) { overwrite(t, p, 8*4096) }, sessionsMade - 3},
	} {
		t.Run(name, func(t *testing.T) {
			path := made(t, tt.open)
			tt.damage(path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Salvage(t.Context(), path, true, time.Now()); err != nil {
				t.Fatal(err)
			}
			r, err := Salvage(t.Context(), path, false, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			good, bad := whole(t, path)
			t.Logf("%+v: %d good, %d damaged", r, good, bad)
			if good < tt.good || good+bad > sessionsMade+1 {
				t.Errorf("%d sessions are whole, %d damaged; want %d whole", good, bad, tt.good)
			}
			if kept, err := os.ReadFile(r.Backup); err != nil || !bytes.Equal(kept, before) {
				t.Errorf("the damaged file is not kept as it was: %v", err)
			}
			if Damaged(t.Context(), path) != "" {
				t.Error("the new file is damaged")
			}
		})
	}
}

func truncateHead(t *testing.T, path string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err == nil {
		_, err = f.WriteAt(make([]byte, 100), 0)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDamaged(t *testing.T) {
	path := made(t, false)
	if what := Damaged(t.Context(), path); what != "" {
		t.Errorf("a whole one: %s", what)
	}
	if what := Damaged(t.Context(), path+"-none"); what != "" {
		t.Errorf("none: %s", what)
	}
	truncateHead(t, path)
	if what := Damaged(t.Context(), path); what == "" {
		t.Error("without a header it is whole")
	}
}

func TestSalvageChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.db")
	if err := os.WriteFile(path, bytes.Repeat([]byte("no sessions here "), 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, dry := range []bool{true, false} {
		if _, err := Salvage(t.Context(), path, dry, time.Now()); !errors.Is(err, session.ErrCorrupt) {
			t.Errorf("%v", err)
		}
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func FuzzRows(f *testing.F) {
	f.Add([]byte{0x0d, 0, 0, 0, 1, 0x0f, 0, 0, 0x0f, 0x00}, uint16(16))
	f.Fuzz(func(t *testing.T, data []byte, at uint16) {
		path := filepath.Join(t.TempDir(), "x.db")
		page := make([]byte, 3*usualPage)
		copy(page[min(int(at), len(page)):], data)
		if err := os.WriteFile(path, page, 0o600); err != nil {
			t.Fatal(err)
		}
		d, err := openDatabase(path)
		if err != nil {
			t.Fatal(err)
		}
		defer d.close()
		if _, _, err := d.rows(func(int64, []any) {}); err != nil {
			t.Fatal(err)
		}
	})
}
