//go:build linux && (amd64 || arm64)

package kernel

import (
	"os"
	"syscall"
	"testing"
)

func BenchmarkTrue(b *testing.B) {
	dir := b.TempDir()
	null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	files := []*os.File{null, null, null}
	b.Run("plain", func(b *testing.B) {
		attr := &syscall.ProcAttr{Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}, Env: []string{"PATH=/bin"}}
		for b.Loop() {
			pid, err := syscall.ForkExec("/bin/true", []string{"true"}, attr)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, bb := range []struct {
		name   string
		policy Policy
		change func(*Jail)
	}{
		{"sockets refused", Policy{Network: NoSockets}, nil},
		{"network namespace", Policy{}, nil},
		{"proxy", Policy{Network: ProxyNetwork}, nil},
		{"network namespace, refusals told", Policy{Notify: true}, nil},
		{"by our own program", Policy{}, func(j *Jail) { j.reexec = true }},
		{"kept together only", Policy{Open: true}, nil},
		{"Landlock and seccomp alone", Policy{Weaker: true}, nil},
	} {
		b.Run(bb.name, func(b *testing.B) {
			p := bb.policy
			p.Read, p.Write = []string{"/"}, []string{dir}
			if p.Weaker {
				was := Namespaces
				Namespaces = func() error { return os.ErrPermission }
				defer func() { Namespaces = was }()
			}
			j, err := Prepare(&p)
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close()
			if j.Weaker() != p.Weaker {
				b.Fatal("another way is measured than was asked for")
			}
			if bb.change != nil {
				bb.change(j)
			}
			for b.Loop() {
				proc, err := j.Start(&Attr{Path: "/bin/true", Args: []string{"true"}, Env: []string{"PATH=/bin"}, Dir: dir, Files: files})
				if err != nil {
					b.Fatal(err)
				}
				if s, err := proc.Wait(); err != nil || s.Status != 0 {
					b.Fatal(s, err)
				}
			}
		})
	}
}
