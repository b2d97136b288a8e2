package workspace

import (
	"testing"

	"github.com/holdfast-dev/holdfast/internal/workspace/testimage"
)

// BenchmarkEnsureRunning measures Ensure for a running container: one inspection of container and image, one
// connection and one request to its supervisor.
func BenchmarkEnsureRunning(b *testing.B) {
	e := testimage.Engine(b)
	image := testImage(b, e, "1")
	w := newWorkspaces(b, e, b.TempDir())
	createSmall(b, w, "blog", image)
	ensure(b, w, "blog")
	for b.Loop() {
		c, err := w.Ensure(b.Context(), "blog")
		if err != nil {
			b.Fatal(err)
		}
		_ = c.Close()
	}
}

// BenchmarkEnsureAbsent measures Ensure for a missing container: create, start, and the supervisor's first
// answer.
func BenchmarkEnsureAbsent(b *testing.B) {
	e := testimage.Engine(b)
	image := testImage(b, e, "1")
	w := newWorkspaces(b, e, b.TempDir())
	createSmall(b, w, "blog", image)
	for b.Loop() {
		c, err := w.Ensure(b.Context(), "blog")
		if err != nil {
			b.Fatal(err)
		}
		_ = c.Close()
		b.StopTimer()
		if err := e.Remove(b.Context(), c.ID); err != nil {
			b.Fatal(err)
		}
		b.StartTimer()
	}
}

// BenchmarkExec measures a command in a running container, from Ensure to its exit.
func BenchmarkExec(b *testing.B) {
	e := testimage.Engine(b)
	image := testImage(b, e, "1")
	w := newWorkspaces(b, e, b.TempDir())
	createSmall(b, w, "blog", image)
	ensure(b, w, "blog")
	for b.Loop() {
		output(b, w, "blog", "say", "hello")
	}
}
