//go:build linux && (amd64 || arm64)

package kernel

import (
	"encoding/binary"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childName is the name (argv[0]) under which this program is started to become a command. It is used if
// memory cannot be shared, and runs the same instructions.
const childName = "holdfast-sandbox-child"

func init() { //nolint:gochecknoinits // it must run before the rest of the program
	if len(os.Args) == 3 && os.Args[0] == childName {
		runtime.LockOSThread()
		child(os.Args[1], os.Args[2])
	}
}

// reexec starts the command through a copy of this program.
func (p *Process) reexec(a *Attr, control int) error {
	memory, err := unix.MemfdCreate("holdfast-sandbox", unix.MFD_CLOEXEC)
	if err != nil {
		return &StartError{"create a file in memory", err}
	}
	text := os.NewFile(uintptr(memory), "instructions")
	p.shared = text
	opened := descriptors{}
	if err := p.openDescriptors(&opened); err != nil {
		return err
	}
	n := len(a.Files)
	d := descriptors{files: make([]int, n), control: n, init: n + 1}
	var fds []uintptr
	for _, f := range a.Files {
		if f == nil {
			fds = append(fds, ^uintptr(0))
		} else {
			fds = append(fds, f.Fd())
		}
	}
	fds = append(fds, uintptr(control), uintptr(opened.init), text.Fd())
	var gate [2]int
	if !p.jail.weaker {
		if err := unix.Pipe2(gate[:], unix.O_CLOEXEC); err != nil {
			return &StartError{"create a pipe", err}
		}
		defer unix.Close(gate[0])
		defer unix.Close(gate[1])
		d.gate = [2]int{n + 3, n + 4}
		fds = append(fds, uintptr(gate[0]), uintptr(gate[1]))
	}
	for _, g := range opened.groups {
		d.groups = append(d.groups, len(fds))
		fds = append(fds, uintptr(g))
	}
	p.program, _ = p.jail.assemble(a, &d, false, nil)
	if p.offset, err = p.program.store(text, n, n+1); err != nil {
		return &StartError{"write the instructions", err}
	}
	sys := &syscall.SysProcAttr{Setsid: !a.Terminal || p.jail.weaker, Cloneflags: p.jail.namespaceFlags(), PidFD: new(int)}
	if p.jail.hasUserNamespace() {
		p.jail.mapUser(sys)
	}
	argv := []string{childName, strconv.Itoa(n + 2), strconv.Itoa(n)}
	p.pid, err = syscall.ForkExec("/proc/self/exe", argv, &syscall.ProcAttr{Files: fds, Sys: sys, Env: []string{"GOMAXPROCS=1", "GOGC=off"}})
	if err != nil {
		return &StartError{"create namespaces", err}
	}
	p.pidfd = os.NewFile(uintptr(*sys.PidFD), "pidfd")
	return nil
}

// store writes a program for the child, followed by the program's slots. Both processes map the
// slots. It returns the offset of the slots.
func (p *program) store(f *os.File, control, init int) (slots int64, err error) {
	page := os.Getpagesize()
	size := 8*headerWords + len(p.ops)*int(unsafe.Sizeof(instruction{})) + len(p.data) + 4*len(p.fixes)
	size = (size + page - 1) / page * page
	header := [headerWords]uint64{
		uint64(len(p.ops)), uint64(len(p.data)), uint64(len(p.fixes)), uint64(p.slots), uint64(control), uint64(init), uint64(size),
	}
	for _, part := range []any{header, p.ops, p.data, p.fixes} {
		if err := binary.Write(f, binary.LittleEndian, part); err != nil {
			return 0, err
		}
	}
	return int64(size), f.Truncate(int64(size + 8*p.slots))
}

const headerWords = 7

// child is the entry point of the copy of this program. It does not return.
func child(instructions, control string) {
	fail := func(errno syscall.Errno) {
		if n, err := strconv.Atoi(control); err == nil {
			message := [messageSize]byte{messageExec, 4: byte(errno)}
			_, _ = syscall.Write(n, message[:])
		}
		os.Exit(126)
	}
	fd, err := strconv.Atoi(instructions)
	if err != nil {
		fail(syscall.EINVAL)
	}
	socket, err := strconv.Atoi(control)
	if err != nil {
		fail(syscall.EINVAL)
	}
	p, slots, err := readProgram(fd)
	if err != nil {
		fail(syscall.EIO)
	}
	_ = unix.CloseRange(uint(socket+1), ^uint(0)>>32, unix.CLOSE_RANGE_CLOEXEC)
	become(&p.ops[0], &slots[0], &p.data[0])
	runtime.KeepAlive(p)
}

func readProgram(fd int) (*program, []uint64, error) {
	size, err := unix.Seek(fd, 0, io.SeekEnd)
	if err != nil {
		return nil, nil, err
	}
	b, err := unix.Mmap(fd, 0, int(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, err
	}
	word := func(i int) int { return int(binary.LittleEndian.Uint64(b[8*i:])) }
	ops, data, fixes, slots, control, init, offset := word(0), word(1), word(2), word(3), word(4), word(5), word(6)
	settle := b[8*headerWords:]
	n := ops * int(unsafe.Sizeof(instruction{}))
	if len(b) != offset+8*slots || len(settle) < n+data+4*fixes {
		return nil, nil, io.ErrUnexpectedEOF
	}
	p := &program{ops: make([]instruction, ops), data: slices.Clone(settle[n : n+data])}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(p.ops))), n), settle)
	for i := range fixes {
		p.fixes = append(p.fixes, binary.LittleEndian.Uint32(settle[n+data+4*i:]))
	}
	p.load()
	values := unsafe.Slice((*uint64)(unsafe.Pointer(&b[offset])), slots)
	values[slotControl], values[slotInit] = uint64(control), uint64(init)
	return p, values, nil
}
