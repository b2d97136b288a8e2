//go:build linux && (amd64 || arm64)

package kernel

import (
	"encoding/binary"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// program is a list of system calls with the data that they point to. Addresses are offsets until the program
// is loaded.
type program struct {
	ops   []instruction
	data  []byte
	fixes []uint32 // where the data contains offsets that are replaced with addresses
	steps []string // descriptions of the steps, by instruction.step
	slots int
	step  uint32
}

// arg is an argument of a system call.
type arg struct {
	value uint64
	flag  uint32
}

func num[T ~int | ~uint | ~int64 | ~uint64 | ~uint32 | ~uintptr](n T) arg {
	return arg{value: uint64(n)}
}

// slot returns an argument that is the result of an earlier call.
func slot(i int) arg { return arg{uint64(i), flagSlot} }

// at returns an argument that is an address in the data.
func at(offset int) arg { return arg{uint64(offset), flagData} }

const atCwd = ^uint64(99) // AT_FDCWD is -100

func newProgram() *program {
	return &program{
		ops: make([]instruction, 0, 256), data: make([]byte, 16, 8192), steps: []string{"start"}, slots: slotFree,
	}
}

// clone returns a copy to which the command-specific part can be added.
func (p *program) clone() *program {
	c := *p
	c.ops = append(make([]instruction, 0, len(p.ops)+64), p.ops...)
	c.data = append(make([]byte, 0, len(p.data)+8192), p.data...)
	c.fixes = append(make([]uint32, 0, len(p.fixes)+128), p.fixes...)
	c.steps = slices.Clip(p.steps)
	return &c
}

// begin starts the step with this name; the following calls belong to it.
func (p *program) begin(step string) {
	p.steps = append(p.steps, step)
	p.step = uint32(len(p.steps) - 1)
}

// call adds a system call and returns it for further changes.
func (p *program) call(nr uintptr, args ...arg) *instruction {
	in := instruction{nr: uint32(nr), step: p.step}
	for i, a := range args {
		in.args[i] = a.value
		in.flags |= a.flag << i
	}
	p.ops = append(p.ops, in)
	return &p.ops[len(p.ops)-1]
}

// try adds a call that may fail.
func (p *program) try(nr uintptr, args ...arg) *instruction {
	in := p.call(nr, args...)
	in.flags |= flagIgnore
	return in
}

// newSlot stores the result of a call in a new slot and returns the slot.
func (p *program) newSlot(in *instruction) arg {
	in.out = uint32(p.slots)
	p.slots++
	return slot(int(in.out))
}

// storeSlot stores the result of a call in a numbered slot.
func storeSlot(in *instruction, i int) { in.out = uint32(i) }

// storeData stores the low 32 bits of the result in the data.
func storeData(in *instruction, offset int) {
	in.out = uint32(offset)
	in.flags |= flagOutData
}

// bytes adds data, aligned to 8 bytes, and returns its offset.
func (p *program) bytes(b []byte) int {
	for len(p.data)%8 != 0 {
		p.data = append(p.data, 0)
	}
	p.data = append(p.data, b...)
	return len(p.data) - len(b)
}

// text adds a string with a terminating NUL byte and returns its offset.
func (p *program) text(s string) int {
	p.data = append(append(p.data, s...), 0)
	return len(p.data) - len(s) - 1
}

// path adds a string and returns its address as an argument.
func (p *program) path(s string) arg { return at(p.text(s)) }

// words adds 64-bit numbers and returns their offset.
func (p *program) words(list ...uint64) int {
	b := make([]byte, 0, 8*len(list))
	for _, w := range list {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return p.bytes(b)
}

// address stores the address of target in the word at the offset where.
func (p *program) address(where, target int) {
	binary.LittleEndian.PutUint64(p.data[where:], uint64(target))
	p.fixes = append(p.fixes, uint32(where))
}

// texts adds a list of strings as execve expects it and returns its offset.
func (p *program) texts(list []string) int {
	where := p.words(make([]uint64, len(list)+1)...)
	for i, s := range list {
		p.address(where+8*i, p.text(s))
	}
	return where
}

// load resolves the addresses and returns the slots. The data must not move afterwards.
func (p *program) load() (slots []uint64) {
	base := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(p.data))))
	for _, at := range p.fixes {
		binary.LittleEndian.PutUint64(p.data[at:], base+binary.LittleEndian.Uint64(p.data[at:]))
	}
	return make([]uint64, p.slots)
}

// sender prepares a message of one type byte and one descriptor over the control socket. The
// function send adds the call. Before the call runs, storeData must store the descriptor at the
// returned offset.
func (p *program) sender(kind byte) (descriptor int, send func()) {
	const controlLen = unix.SizeofCmsghdr + 4
	control := p.words(controlLen, unix.SOL_SOCKET|unix.SCM_RIGHTS<<32, 0)
	text := p.bytes([]byte{kind, 0, 0, 0, 0, 0, 0, 0})
	iov := p.words(0, 8)
	p.address(iov, text)
	msg := p.words(0, 0, 0, 1, 0, controlLen, 0)
	p.address(msg+16, iov)
	p.address(msg+32, control)
	return control + unix.SizeofCmsghdr, func() {
		p.call(unix.SYS_SENDMSG, slot(slotControl), at(msg), num(unix.MSG_NOSIGNAL))
	}
}
