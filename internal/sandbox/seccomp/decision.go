package seccomp

// decision is what happens to a call: an answer, or a test of one of its arguments that leads to
// two further decisions. Decisions are immutable, so that calls can share one.
//
//	word & mask == value ─ yes ─► then
//	                     ─ no ──► otherwise
type decision struct {
	answer answer

	word            argHalf
	mask, value     uint32
	then, otherwise *decision // nil: answer applies
}

// answer is how a call ends.
type answer int

const (
	allowed  answer = iota
	refused         // EPERM, and reported
	withheld        // returns EPERM without a report: programs try the call and continue without it
	absent          // returns ENOSYS without a report: callers then use an older call that does the same
	occupied        // EBUSY: the kernel's answer to a second listener
	foreign         // returns ENOSYS with a report: a call of another processor interface
	seen            // allows the call with a report: it opens a file for writing or creates a folder
)

// Decisions without a test.
var (
	allow       = &decision{answer: allowed}
	refuse      = &decision{answer: refused}
	hideCall    = &decision{answer: withheld}
	returnNoSys = &decision{answer: absent}
	returnBusy  = &decision{answer: occupied}
	foreignABI  = &decision{answer: foreign}
	notifyWrite = &decision{answer: seen}
)

// of returns the answer to a call with these arguments. It is the same as that of the generated
// filter.
func (d *decision) of(args *[6]uint64) answer {
	for d.then != nil {
		value := uint32(args[d.word/2] >> (32 * (d.word % 2)))
		if value&d.mask == d.value {
			d = d.then
		} else {
			d = d.otherwise
		}
	}
	return d.answer
}

// argHalf is a half of an argument. For most arguments the kernel reads only the low half. If a
// filter tested both halves, a command could deceive it with the content of the high half.
type argHalf int

// low returns the half of the i-th argument that contains an int, a mode or flags.
func low(i int) argHalf { return argHalf(2 * i) }

// high returns the other half, which pointers and longs also use.
func high(i int) argHalf { return argHalf(2*i + 1) }

const whole = ^uint32(0)

// masked tests whether the masked bits of a word have a value.
func masked(w argHalf, mask, value uint32, then, otherwise *decision) *decision {
	return &decision{word: w, mask: mask, value: value, then: then, otherwise: otherwise}
}

// equal tests whether a word is one of the values.
func equal(w argHalf, then, otherwise *decision, values ...uint32) *decision {
	d := otherwise
	for _, v := range values {
		d = masked(w, whole, v, then, d)
	}
	return d
}

// anyOf tests whether any of the bits is set in a word.
func anyOf(w argHalf, bits uint32, then, otherwise *decision) *decision {
	return masked(w, bits, 0, otherwise, then)
}

// zero tests whether both halves of an argument are zero, as in a null pointer.
func zero(arg int, then, otherwise *decision) *decision {
	return equal(low(arg), equal(high(arg), then, otherwise, 0), otherwise, 0)
}
