package supervisor

import (
	"io"
	"os/exec"
	"testing"
)

// The process of one turn, from start to end, compared with starting it directly.
func BenchmarkStart(b *testing.B) {
	b.Setenv("TMPDIR", "/dev/shm") // which has few other processes, as in a container
	h := newSupervisor(b)
	run := func(b *testing.B) {
		c, err := Dial(b.Context(), h.socket)
		if err != nil {
			b.Fatal(err)
		}
		p, err := c.Start(b.Context(), Spec{ID: "a", Args: []string{"/bin/true"}, Dir: "/"})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := p.Wait(b.Context()); err != nil {
			b.Fatal(err)
		}
		_ = p.Close()
	}
	b.Run("supervised", func(b *testing.B) {
		for b.Loop() {
			run(b)
		}
	})
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("dial and ping", func(b *testing.B) {
		for b.Loop() {
			c, err := Dial(b.Context(), h.socket)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := c.Ping(b.Context()); err != nil {
				b.Fatal(err)
			}
			_ = c.Close()
		}
	})
}

func BenchmarkStream(b *testing.B) {
	b.Setenv("TMPDIR", "/dev/shm") // which has few other processes, as in a container
	h := newSupervisor(b)
	c, err := Dial(b.Context(), h.socket)
	if err != nil {
		b.Fatal(err)
	}
	p, err := c.Start(b.Context(), Spec{ID: "a", Args: []string{"cat", "/dev/zero"}, Dir: "/"})
	if err != nil {
		b.Fatal(err)
	}
	const size = 64 << 20
	b.SetBytes(size)
	for b.Loop() {
		if _, err := io.CopyN(io.Discard, p.Stdout(), size); err != nil {
			b.Fatal(err)
		}
	}
	_ = p.Close()
}
