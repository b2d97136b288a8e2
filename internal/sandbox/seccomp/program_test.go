//go:build linux && (amd64 || arm64)

package seccomp

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// interpret runs a program as the kernel does, and counts its steps.
func interpret(program []Instruction, arch, number uint32, args [6]uint64) (verdict uint32, steps int, err error) {
	data := binary.LittleEndian.AppendUint32(nil, number)
	data = binary.LittleEndian.AppendUint32(data, arch)
	data = binary.LittleEndian.AppendUint64(data, 0)
	for _, a := range args {
		data = binary.LittleEndian.AppendUint64(data, a)
	}
	var acc uint32
	for at := 0; at < len(program); at++ {
		steps++
		i := program[at]
		var yes bool
		switch i.Code {
		case opLoad:
			acc = binary.LittleEndian.Uint32(data[i.K:])
			continue
		case opAnd:
			acc &= i.K
			continue
		case opReturn:
			return i.K, steps, nil
		case opJump:
			at += int(i.K)
			continue
		case opEqual:
			yes = acc == i.K
		case opAtLeast:
			yes = acc >= i.K
		case opAnyBit:
			yes = acc&i.K != 0
		default:
			return 0, steps, fmt.Errorf("instruction %d: unknown operation %#x", at, i.Code)
		}
		if yes {
			at += int(i.Jt)
		} else {
			at += int(i.Jf)
		}
	}
	return 0, steps, fmt.Errorf("the program has no end")
}

func filter(t testing.TB, o Options) []Instruction {
	t.Helper()
	p, err := Filter(&o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Programs are small, and no call takes many steps.
func TestSize(t *testing.T) {
	longest, deepest := 0, 0
	for _, o := range optionSets() {
		p := filter(t, o)
		longest = max(longest, len(p))
		for nr := range known[len(known)-1][1] + 20 {
			_, steps, err := interpret(p, arch, nr, [6]uint64{})
			if err != nil {
				t.Fatalf("%v, call %d: %v", o, nr, err)
			}
			deepest = max(deepest, steps)
		}
	}
	t.Logf("at most %d instructions, %d steps", longest, deepest)
	if longest > 4096 || deepest > 24 {
		t.Errorf("%d instructions, %d steps; want at most 4096, the kernel's limit, and 24", longest, deepest)
	}
}

// values are the words at which decisions change, and their neighbors.
var values = []uint32{
	0, 1, 2, 3, 4, 5, 6, 10, 16, 17, 29, 31, 35, 38, 40, 58, 132, 255, 262, whole, whole - 1, 0x80000000,
	unix.SOCK_STREAM | unix.SOCK_CLOEXEC, unix.SOCK_DGRAM | unix.SOCK_NONBLOCK, unix.SOCK_RAW | unix.SOCK_CLOEXEC,
	unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSTI + 1, unix.MSG_FASTOPEN, unix.MSG_FASTOPEN | 1,
	unix.O_CREAT, unix.O_CREAT | unix.O_WRONLY, unix.O_TMPFILE, unix.O_DIRECTORY, unix.O_RDWR,
	0o644, 0o4755, 0o2755, 0o1777, 0o6000, unix.S_IFCHR | 0o600, unix.S_IFBLK, unix.S_IFIFO, unix.S_IFSOCK, unix.S_IFREG | 0o4000,
	unix.CLONE_NEWNS, unix.CLONE_NEWUSER, unix.CLONE_NEWTIME, unix.CLONE_NEWCGROUP, unix.CLONE_PARENT, unix.CLONE_VM | unix.CLONE_VFORK,
	unix.CLONE_FILES, unix.CLONE_FS, 0x0040000, 0x0040001, 0x0400000, 8, 9,
}

// The filter decides about every possible number as the plain list of oracle_test.go does, whatever the
// arguments, for every set of options.
func TestDecisions(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, o := range optionSets() {
		p := filter(t, o)
		check := func(arch, nr uint32, args [6]uint64) {
			t.Helper()
			got, _, err := interpret(p, arch, nr, args)
			if want := oracle(o, arch, nr, args); got != want || err != nil {
				t.Fatalf("%v, call %d of %#x with %#x: %#x (%v), want %#x", o, nr, arch, args, got, err, want)
			}
		}
		for nr := range known[len(known)-1][1] + 20 {
			for range 15 {
				check(arch, nr, randomArgs(random))
			}
		}
		for range 400 { // calls that depend on many arguments
			for _, nr := range []uint32{unix.SYS_SOCKET, unix.SYS_SOCKETPAIR, unix.SYS_OPENAT, unix.SYS_MKNODAT, unix.SYS_PRLIMIT64} {
				check(arch, nr, randomArgs(random))
			}
			check(arch, random.Uint32(), randomArgs(random))
			check(random.Uint32(), random.Uint32N(500), randomArgs(random))
		}
		for _, nr := range []uint32{whole, 0x40000000, 0x40000000 + 41, 0x7fffffff, 0x80000000} {
			check(arch, nr, [6]uint64{})
		}
		for _, other := range []uint32{unix.AUDIT_ARCH_I386, unix.AUDIT_ARCH_ARM, 0} {
			check(other, unix.SYS_GETPID, [6]uint64{})
		}
	}
}

// randomArgs puts relevant words in the low halves and often random ones in the high halves, which the kernel
// does not read.
func randomArgs(r *rand.Rand) (args [6]uint64) {
	for i := range args {
		args[i] = uint64(values[r.IntN(len(values))])
		if r.IntN(8) == 0 {
			args[i] = uint64(r.Uint32())
		}
		if r.IntN(3) == 0 {
			args[i] |= uint64(r.Uint32()) << 32
		}
	}
	return args
}

// The table contains exactly the calls of the list from which it was made.
func TestKnownCalls(t *testing.T) {
	listed := map[uint32]string{}
	for name, nr := range numbers(t) {
		listed[nr] = name
	}
	delete(listed, 244*b2u(runtime.GOARCH == "arm64")) // a reserved number without a call
	if runtime.GOARCH == "amd64" {
		listed[0] = "SYS_READ"
	}
	for _, run := range known {
		for nr := run[0]; nr <= run[1]; nr++ {
			if listed[nr] == "" {
				t.Errorf("no call has the number %d", nr)
			}
			delete(listed, nr)
		}
	}
	for nr, name := range listed {
		t.Errorf("%s, %d, is not in the table: decide what happens to it", name, nr)
	}
}

func b2u(b bool) uint32 {
	if b {
		return 1
	}
	return 0
}

// numbers reads the calls of this processor from the source of x/sys.
func numbers(t *testing.T) map[string]uint32 {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "unix", "zsysnum_linux_"+runtime.GOARCH+".go"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]uint32{}
	for _, m := range regexp.MustCompile(`(?m)^\s+(SYS_\w+)\s+= (\d+)$`).FindAllStringSubmatch(string(b), -1) {
		nr, err := strconv.ParseUint(m[2], 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		all[m[1]] = uint32(nr)
	}
	return all
}

// Every call that can be reported has a name.
func TestNames(t *testing.T) {
	for _, o := range optionSets() {
		for nr, d := range rules(&o) {
			if mayRefuse(d) && callNames[nr] == "" && archNames[nr] == "" {
				t.Errorf("call %d can be refused and has no name", nr)
			}
		}
	}
}

func mayRefuse(d *decision) bool {
	if d.then == nil {
		return d.answer == refused
	}
	return mayRefuse(d.then) || mayRefuse(d.otherwise)
}

// Positions beyond the range of a conditional jump are reached by additional jumps.
func TestLongJumps(t *testing.T) {
	var spans []span
	for i := range uint32(900) { // every decision is different, so none is shared
		spans = append(spans, span{i, masked(low(0), i|1<<20, 1<<20, allow, refuse)})
	}
	p := assemble(arch, spans, false)
	for i := range uint32(900) {
		for _, arg := range []uint64{1 << 20, uint64(i) | 1<<20, 0} {
			want := uint32(returnErrno | errnoPerm)
			if uint32(arg)&(i|1<<20) == 1<<20 {
				want = returnAllow
			}
			if got, _, err := interpret(p, arch, i, [6]uint64{arg}); got != want || err != nil {
				t.Fatalf("call %d with %#x: %#x (%v), want %#x", i, arg, got, err, want)
			}
		}
	}
}

func ExampleFilter() {
	program, err := Filter(&Options{Inet: true, TCPOnly: true})
	fmt.Println(len(program) > 0, len(program) < 4096, err)
	// Output: true true <nil>
}
