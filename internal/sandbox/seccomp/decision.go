package seccomp

// A decision is what happens to a call: an answer, or a look at one of its
// arguments that leads to two further decisions. Decisions are never changed, so
// calls that are treated alike share one.
//
//	word & mask == value ─ yes ─► then
//	                     ─ no ──► otherwise
type decision struct {
	answer answer

	word            argHalf
	mask, value     uint32
	then, otherwise *decision // nil: the answer holds
}

// answer is how a call ends.
type answer int

const (
	allowed  answer = iota
	refused         // EPERM, and told
	withheld        // EPERM, and not told: programs try it and go on without
	absent          // ENOSYS: callers take the older call that does the same
	occupied        // EBUSY: what the kernel says to a second listener
	foreign         // ENOSYS, and told: a call of another processor's interface
	seen            // allowed, and told: a file is opened for writing or a folder made
)

// Decisions that need no look.
var (
	allow       = &decision{answer: allowed}
	refuse      = &decision{answer: refused}
	hideCall    = &decision{answer: withheld}
	returnNoSys = &decision{answer: absent}
	returnBusy  = &decision{answer: occupied}
	foreignABI  = &decision{answer: foreign}
	notifyWrite = &decision{answer: seen}
)

// of is the answer to a call with these arguments, as the program that is made of the decision gives it.
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

// argHalf is a half of an argument. The kernel reads of most arguments only the low
// one; whoever looked at both could be misled by what is in the high one.
type argHalf int

// low is the half of the i-th argument that an int, a mode or a flag is in.
func low(i int) argHalf { return argHalf(2 * i) }

// high is the other half, of pointers and of what the kernel takes as a long.
func high(i int) argHalf { return argHalf(2*i + 1) }

const whole = ^uint32(0)

// masked decides by whether some bits of a word have a value.
func masked(w argHalf, mask, value uint32, then, otherwise *decision) *decision {
	return &decision{word: w, mask: mask, value: value, then: then, otherwise: otherwise}
}

// equal decides by whether a word is one of the values.
func equal(w argHalf, then, otherwise *decision, values ...uint32) *decision {
	d := otherwise
	for _, v := range values {
		d = masked(w, whole, v, then, d)
	}
	return d
}

// anyOf decides by whether any of the bits is set in a word.
func anyOf(w argHalf, bits uint32, then, otherwise *decision) *decision {
	return masked(w, bits, 0, otherwise, then)
}

// zero decides by whether an argument is zero in both halves: a null pointer.
func zero(arg int, then, otherwise *decision) *decision {
	return equal(low(arg), equal(high(arg), then, otherwise, 0), otherwise, 0)
}
