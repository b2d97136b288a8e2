package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func canceled(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

func TestUsage(t *testing.T) {
	d := newDiskEnv(t)
	s := d.make(Settings{Slug: "a"})
	okay(t, os.WriteFile(filepath.Join(d.dirs(s).Home, "file"), make([]byte, 10_000), 0o600))
	okay(t, os.WriteFile(filepath.Join(d.dirs(s).Project, "work"), nil, 0o600))
	okay(t, os.Symlink("/", filepath.Join(d.dirs(s).Home, "root")))
	u, err := d.Usage(t.Context(), "a")
	if err != nil || u.Home.Files != 2 || u.Project.Files != 1 || u.Limit != defaultDisk || u.OverLimit() || u.Total().Files != 3 {
		t.Errorf("%+v, %v", u, err)
	}
	if u.Home.Bytes < 10_000 || u.Home.Bytes > 30_000 {
		t.Errorf("%d bytes", u.Home.Bytes)
	}
	if _, err := d.Usage(canceled(t), "a"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := d.Usage(t.Context(), "none"); !errors.Is(err, ErrNotFound) {
		t.Error(err)
	}
	okay(t, os.RemoveAll(d.dirs(s).Home))
	if u, err := d.Usage(t.Context(), "a"); err != nil || u.Home != (Size{}) {
		t.Errorf("without a home: %+v, %v", u, err)
	}
	okay(t, os.Symlink("/", d.dirs(s).Home))
	if u, err := d.Usage(t.Context(), "a"); err == nil {
		t.Errorf("with a link as home: %+v", u)
	}
}

func TestCheckDisk(t *testing.T) {
	d := newDiskEnv(t)
	s := d.make(Settings{Slug: "a", Limits: Limits{Disk: 1 << 20}})
	file := filepath.Join(d.dirs(s).Home, "file")
	check := func() error {
		d.disks.all = nil // removes cached results
		return d.CheckDisk(t.Context(), "a")
	}
	okay(t, check())
	okay(t, os.WriteFile(file, make([]byte, 2<<20), 0o600))
	err := check()
	e, ok := errors.AsType[*Error](err)
	if !errors.Is(err, ErrQuota) || !ok || !strings.Contains(e.Detail, "use 2m of 1m") || !strings.Contains(e.Hint(), "workspace du a") {
		t.Errorf("%v", err)
	}
	okay(t, os.Remove(file))
	okay(t, check())
	// Many empty files use up the limit as well.
	for i := range 300 {
		okay(t, os.WriteFile(file+strings.Repeat("x", i%200)+string(rune('a'+i/200)), nil, 0o600))
	}
	if err := check(); !errors.Is(err, ErrQuota) {
		t.Error(err)
	}
	_, err = d.Set(t.Context(), "a", func(s *Settings) error { s.Limits.Disk = Unlimited; return nil })
	okay(t, err)
	okay(t, check())
	// A folder that is not readable is made readable.
	_, err = d.Set(t.Context(), "a", func(s *Settings) error { s.Limits.Disk = 1 << 20; return nil })
	okay(t, err)
	okay(t, os.Mkdir(filepath.Join(d.dirs(s).Home, "locked"), 0))
	if err := check(); !errors.Is(err, ErrQuota) || strings.Contains(err.Error(), "looked into") {
		t.Error(err)
	}
}

// A result is cached as long as it is valid, and never when the disk is full.
func TestMeasurementCache(t *testing.T) {
	var d usageCache
	now := time.Now()
	d.put("quick", &Usage{Duration: time.Millisecond}, now)
	d.put("over", &Usage{Duration: time.Second, Limit: 1, Home: Size{Bytes: 2}}, now)
	d.put("slow", &Usage{Duration: time.Second}, now)
	d.put("other limit", &Usage{Duration: time.Second, Limit: 9}, now)
	for slug, want := range map[string]bool{"quick": false, "over": false, "slow": true, "none": false, "other limit": false} {
		s := &Settings{ID: slug, Limits: Limits{Disk: 0}}
		if got := d.get(s, now.Add(19*time.Second)) != nil; got != want {
			t.Errorf("%s: %v", slug, got)
		}
	}
	if d.get(&Settings{ID: "slow"}, now.Add(20*time.Second)) != nil || len(d.all) != 0 {
		t.Errorf("it is kept too long: %v", d.all)
	}
}

func TestFormatBytes(t *testing.T) {
	for n, want := range map[int64]string{0: "0 bytes", 999: "999 bytes", 1000: "0.977k", 1536: "1.5k", 2 << 20: "2m", 5 << 30: "5g", 1 << 50: "1p"} {
		if got := formatBytes(n); got != want {
			t.Errorf("%d: %q", n, got)
		}
	}
}
