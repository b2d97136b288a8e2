//go:build linux && (amd64 || arm64)

package kernel

// spawn makes a process with the system call nr (clone3 or clone) and has it run
// ops; it returns the process id or a negative error number. The process shares
// our memory and our stack pointer but touches no stack, and all its signals are
// blocked.
//
//go:noescape
func spawn(nr, a1, a2, a3 uintptr, ops *instruction, slots *uint64, data *byte) int64

// become runs ops in this thread. It does not return.
//
//go:noescape
func become(ops *instruction, slots *uint64, data *byte)

// superviseText is where init's code begins and ends in our own text.
var superviseText [2]uintptr

// These are not for calling.
func supervise()    //nolint:unused // assembly has its address
func superviseEnd() //nolint:unused // as well

// instruction is one system call of a program. Assembly knows its layout.
type instruction struct {
	nr    uint32
	flags uint32
	out   uint32 // the slot, or with flagOutData the offset, that gets the result; 0: none
	step  uint32 // what to say when it fails
	args  [6]uint64
}

// Flags of an instruction. flagSlot and flagData are shifted by the number of the
// argument.
const (
	flagSlot    = 1 << 0  // the argument is the value of a slot
	flagData    = 1 << 8  // the argument is an offset in the data
	flagIgnore  = 1 << 16 // a failure does not matter
	flagOutData = 1 << 17
	flagFork    = 1 << 18 // where the result is 0, out is how many instructions to go on; else it goes into the data at the last argument
)

// The first slots. Failure reporting uses 0 and 1.
const (
	slotErrno = iota
	slotStep
	slotControl
	slotInit
	slotUmask
	slotRuleset
	_ // the listener
	slotSocket
	_ // the notification
	slotMasks
	slotFree
)
