//go:build linux && (amd64 || arm64)

package seccomp

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// linear makes the program of a filter that compares call after call.
func linear(b *testing.B) []Instruction {
	b.Helper()
	a := &assembler{places: map[*decision]int{}, rets: map[uint32]int{}}
	next := a.end(returnAllow)
	for nr, d := range rules(&Options{}) {
		next = a.branch(opEqual, nr, a.decide(d), a.step(next))
	}
	a.branch(opAtLeast, known[len(known)-1][1]+1, a.end(returnErrno|errnoNosys), next)
	a.emit(Instruction{Code: opLoad, K: offsetNumber})
	for i, j := 0, len(a.code)-1; i < j; i, j = i+1, j-1 {
		a.code[i], a.code[j] = a.code[j], a.code[i]
	}
	return a.code
}

// What a filter adds to a call. Of calls that are allowed whatever their arguments
// the kernel remembers that; the others go through the tree.
func BenchmarkCall(b *testing.B) {
	tree, err := Filter(&Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name string
		call attempt
	}{
		{"getppid", at(unix.SYS_GETPPID)},
		{"ioctl", at(unix.SYS_IOCTL, wrong, unix.TIOCGWINSZ)},
		{"openat", at(unix.SYS_OPENAT, wrong, wrong, unix.O_RDONLY)},
	} {
		for _, f := range []struct {
			name    string
			program []Instruction
		}{{"bare", nil}, {"tree", tree}, {"linear", linear(b)}} {
			b.Run(c.name+"/"+f.name, func(b *testing.B) {
				onOwnThread(func() {
					if f.program != nil {
						if _, errno := load(f.program, 0); errno != 0 {
							b.Error(errno)
							return
						}
					}
					x := c.call.Args
					b.ResetTimer()
					for b.Loop() {
						_, _, _ = unix.RawSyscall6(uintptr(c.call.Number), uintptr(x[0]), uintptr(x[1]), uintptr(x[2]), 0, 0, 0)
					}
				})
			})
		}
	}
}

// What it costs to have the filter: made once per policy, installed per command.
func BenchmarkFilter(b *testing.B) {
	for b.Loop() {
		if _, err := Filter(&Options{Notify: true}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkInstall(b *testing.B) {
	tree, err := Filter(&Options{})
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range []struct {
		name    string
		program []Instruction
	}{{"tree", tree}, {"linear", linear(b)}} {
		b.Run(f.name, func(b *testing.B) {
			b.ReportMetric(float64(len(f.program)), "instructions")
			for b.Loop() {
				b.StopTimer()
				onOwnThread(func() {
					runtime.LockOSThread()
					b.StartTimer()
					if _, errno := load(f.program, 0); errno != 0 {
						b.Error(errno)
					}
					b.StopTimer()
				})
				b.StartTimer()
			}
		})
	}
}
