//go:build linux && (amd64 || arm64)

package seccomp

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// linear builds the program of a filter that compares the call numbers one after the other.
func linear(b *testing.B) []Instruction {
	b.Helper()
	a := &assembler{places: map[*decision]int{}, rets: map[uint32]int{}}
	next := a.end(returnAllow)
	for nr, d := range rules(&Options{}) {
		next = a.branch(opEqual, nr, a.decide(d), a.step(next))
	}
	a.branch(opAtLeast, known[len(known)-1][1]+1, a.end(returnErrno|errnoNosys), next)
	a.emit(Instruction{Code: opLoad, K: offsetNumber})
	slices.Reverse(a.code)
	return a.code
}

// blockCalls is small enough that other processes do not disturb some of the blocks.
const blockCalls = 500

// block measures several calls in a row.
func (a attempt) block() time.Duration {
	nr, x, y, z := uintptr(a.Number), uintptr(a.Args[0]), uintptr(a.Args[1]), uintptr(a.Args[2])
	start := time.Now()
	for range blockCalls {
		_, _, _ = unix.RawSyscall(nr, x, y, z)
	}
	return time.Since(start)
}

// The cost that a filter adds to a call; the minimum is the cost of any filter. The kernel caches the result
// for calls that are allowed whatever their arguments; the others use the search tree.
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
		}{{"bare", nil}, {"least", []Instruction{{Code: opReturn, K: returnAllow}}}, {"tree", tree}, {"linear", linear(b)}} {
			b.Run(c.name+"/"+f.name, func(b *testing.B) {
				onOwnThread(func() {
					if f.program != nil {
						if _, errno := load(f.program, 0); errno != 0 {
							b.Error(errno)
							return
						}
					}
					best := time.Hour
					b.ResetTimer()
					for b.Loop() {
						best = min(best, c.call.block())
					}
					b.ReportMetric(float64(best.Nanoseconds())/blockCalls, "best-ns/call")
				})
			})
		}
	}
}

// The cost of a filter: it is built once per policy and installed per command.
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

// The cost of reporting a file before it is opened for writing.
func BenchmarkOpenForWriting(b *testing.B) {
	name := filepath.Join(b.TempDir(), "x")
	path, err := unix.BytePtrFromString(name)
	if err != nil {
		b.Fatal(err)
	}
	for _, reported := range []bool{false, true} {
		b.Run(fmt.Sprintf("told=%t", reported), func(b *testing.B) {
			var w *Watcher
			onOwnThread(func() {
				listener, err := install(&Options{Notify: true, Writes: reported}, false)
				if err != nil {
					b.Error(err)
					return
				}
				w = Watch(listener, func(string) {})
				b.ResetTimer()
				for b.Loop() {
					fd, _, errno := unix.Syscall6(unix.SYS_OPENAT, ^uintptr(99), uintptr(unsafe.Pointer(path)), unix.O_CREAT|unix.O_WRONLY, 0o600, 0, 0)
					if errno != 0 {
						b.Error(errno)
						return
					}
					_ = unix.Close(int(fd))
				}
			})
			if w != nil {
				w.Done()
			}
		})
	}
}
