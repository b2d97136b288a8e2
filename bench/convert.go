//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-dev/holdfast/internal/claudefixture"
	"github.com/holdfast-dev/holdfast/internal/session/convert"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
)

// imports measures how fast a folder of Claude Code is imported, in MB of its files.
func (b *bench) imports(ctx context.Context) error {
	dir := filepath.Join(b.dir, ".claude")
	made, err := claudefixture.Make(dir, claudefixture.Options{Sessions: 200, Turns: b.rounds(40, 10), Result: 3000, Faults: true, LongLine: 20 << 20})
	if err != nil {
		return err
	}
	found, err := convert.Find(dir, convert.Auto)
	if err != nil {
		return err
	}
	for _, name := range []string{"memory", "SQLite", "file"} {
		var took []time.Duration
		for range b.rounds(5, 3) {
			d, err := b.importOnce(ctx, name, found.Sources)
			if err != nil {
				return err
			}
			took = append(took, d)
		}
		rate := float64(made.Bytes) / 1e6 / median(took).Seconds()
		b.add(fmt.Sprintf("import of 200 Claude sessions, %d MB, %s", made.Bytes/1_000_000, name), fmt.Sprintf("%.0f MB/s", rate), "", "", goal("≥ 50 MB/s", rate >= 50))
	}
	return nil
}

func (b *bench) importOnce(ctx context.Context, name string, sources []convert.Source) (time.Duration, error) {
	var store session.Store = memory.New()
	dir, err := os.MkdirTemp(b.dir, "import-")
	if err != nil {
		return 0, err
	}
	switch name {
	case "SQLite":
		store, err = openSQLite(dir)
	case "file":
		store, err = openFile(dir)
	}
	if err != nil {
		return 0, err
	}
	defer closeStore(store)
	var failed error
	t0 := time.Now()
	err = convert.ImportAll(ctx, session.New(store, nil), sources, nil, func(_ *convert.Report, err error) bool {
		failed = err
		return err == nil
	})
	if err == nil {
		err = failed
	}
	return time.Since(t0), err
}
