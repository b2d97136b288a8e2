package seccomp

import "slices"

// The operations of classic BPF that a filter uses.
const (
	opLoad    = 0x20 // A = the word at K
	opAnd     = 0x54 // A &= K
	opJump    = 0x05 // jump to K
	opEqual   = 0x15 // A == K
	opAtLeast = 0x35 // A >= K
	opAnyBit  = 0x45 // A & K != 0
	opReturn  = 0x06
)

// Offsets in the data that a filter reads (struct seccomp_data).
const (
	offsetNumber = 0
	offsetArch   = 4
	offsetArgs   = 16
)

// The return values of a filter.
const (
	returnAllow  = 0x7fff0000
	returnErrno  = 0x00050000 // the low half contains the error
	returnNotify = 0x7fc00000
)

// Errors as return values of filters; the numbers are the same on both processors.
const (
	errnoPerm  = 1
	errnoBusy  = 16
	errnoNosys = 38
)

const farthest = 255 // maximum number of instructions that a conditional jump can skip

// span is a range of call numbers with the same decision, up to the next span.
type span struct {
	first    uint32
	decision *decision
}

// assembler builds a program from its end to its start. Jumps only lead forward, so the target of a
// jump then exists already. Positions are counted from the end.
type assembler struct {
	code   []Instruction // the last instruction first
	places map[*decision]int
	rets   map[uint32]int
	notify bool
}

// assemble builds a program from spans, which start at 0 and are sorted.
func assemble(arch uint32, spans []span, notify bool) []Instruction {
	a := &assembler{places: map[*decision]int{}, rets: map[uint32]int{}, notify: notify}
	a.tree(spans)
	number := a.emit(Instruction{Code: opLoad, K: offsetNumber})
	a.branch(opEqual, arch, number, a.decide(foreignABI))
	a.emit(Instruction{Code: opLoad, K: offsetArch})
	slices.Reverse(a.code)
	return a.code
}

// tree emits the search for the span of a number and returns its position.
func (a *assembler) tree(spans []span) int {
	if len(spans) == 1 {
		return a.decide(spans[0].decision)
	}
	mid := len(spans) / 2
	upper, lower := a.tree(spans[mid:]), a.tree(spans[:mid])
	return a.branch(opAtLeast, spans[mid].first, upper, lower)
}

// decide emits a decision, unless the same one is within reach already, and returns its position.
func (a *assembler) decide(d *decision) int {
	if d.then == nil {
		return a.end(a.returnValue(d.answer))
	}
	if at, ok := a.places[d]; ok && a.reaches(at) {
		return at
	}
	then, otherwise := a.decide(d.then), a.decide(d.otherwise)
	if d.value == 0 && d.mask != whole {
		a.branch(opAnyBit, d.mask, otherwise, then)
	} else {
		a.branch(opEqual, d.value, then, otherwise)
		if d.mask != whole {
			a.emit(Instruction{Code: opAnd, K: d.mask})
		}
	}
	at := a.emit(Instruction{Code: opLoad, K: offsetArgs + 4*uint32(d.word)})
	a.places[d] = at
	return at
}

// end emits a return instruction, unless the same one is within reach already, and returns its
// position.
func (a *assembler) end(verdict uint32) int {
	if at, ok := a.rets[verdict]; ok && a.reaches(at) {
		return at
	}
	at := a.emit(Instruction{Code: opReturn, K: verdict})
	a.rets[verdict] = at
	return at
}

// returnValue returns the kernel's return value for an answer.
func (a *assembler) returnValue(w answer) uint32 {
	switch {
	case w == allowed || w == seen && !a.notify:
		return returnAllow
	case a.notify && (w == refused || w == foreign || w == seen):
		return returnNotify
	case w == absent || w == foreign:
		return returnErrno | errnoNosys
	case w == occupied:
		return returnErrno | errnoBusy
	default:
		return returnErrno | errnoPerm
	}
}

// branch emits a comparison that jumps to one of two positions.
func (a *assembler) branch(op uint16, k uint32, yes, no int) int {
	// If it has to add a jump instruction, this can move the other position out of reach.
	if !a.reaches(yes) || !a.reaches(no) {
		yes, no = a.step(yes), a.step(no)
	}
	pos := len(a.code)
	return a.emit(Instruction{Code: op, K: k, Jt: uint8(pos - 1 - yes), Jf: uint8(pos - 1 - no)})
}

// step emits a jump to a position at any distance.
func (a *assembler) step(to int) int {
	return a.emit(Instruction{Code: opJump, K: uint32(len(a.code) - 1 - to)})
}

// reaches reports whether a comparison that is emitted soon can jump to a position. The margin
// leaves room for the instructions emitted before the comparison, such as two calls of step.
func (a *assembler) reaches(at int) bool { return len(a.code)-1-at <= farthest-8 }

func (a *assembler) emit(i Instruction) int {
	a.code = append(a.code, i)
	return len(a.code) - 1
}
