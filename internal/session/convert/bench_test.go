package convert_test

import (
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/claudefixture"
	"github.com/holdfast-dev/holdfast/internal/session/convert"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/session/memory"
	"github.com/holdfast-dev/holdfast/session/sqlite"
)

// Importing a folder of 200 sessions, about 30 MB.
func BenchmarkImport(b *testing.B) {
	dir := filepath.Join(b.TempDir(), ".claude")
	made, err := claudefixture.Make(dir, claudefixture.Options{Sessions: 200, Turns: 20, Result: 2000, Faults: true})
	if err != nil {
		b.Fatal(err)
	}
	mask, err := secret.New(nil)
	if err != nil {
		b.Fatal(err)
	}
	found, err := convert.Find(dir, convert.Auto)
	if err != nil {
		b.Fatal(err)
	}
	run := func(name string, open func(b *testing.B) session.Store, o *convert.Options) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(made.Bytes)
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				s := session.New(open(b), nil)
				b.StartTimer()
				for _, src := range found.Sources {
					if _, err := convert.Import(b.Context(), s, src, o); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
	inMemory := func(*testing.B) session.Store { return memory.New() }
	onDisk := func(b *testing.B) session.Store {
		s, err := sqlite.Open(filepath.Join(b.TempDir(), "sessions.db"), nil)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		return s
	}
	run("memory", inMemory, nil)
	run("memory, masked", inMemory, &convert.Options{Mask: mask})
	run("sqlite", onDisk, nil)
	run("sqlite, masked", onDisk, &convert.Options{Mask: mask})
}
