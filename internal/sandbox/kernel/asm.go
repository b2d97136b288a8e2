//go:build linux && (amd64 || arm64)

package kernel

// spawn creates a process with the system call nr (clone3 or clone), which then runs ops. It returns the
// process id or a negative error number. The process shares the memory and the stack pointer of this process
// but uses no stack, and all its signals are blocked.
//
//go:noescape
func spawn(nr, a1, a2, a3 uintptr, ops *instruction, slots *uint64, data *byte) int64

// become runs ops in this thread. It does not return.
//
//go:noescape
func become(ops *instruction, slots *uint64, data *byte)

// superviseText contains the addresses at which init's code starts and ends in this program's code
// segment.
var superviseText [2]uintptr

// supervise and superviseEnd must not be called.
func supervise()    //nolint:unused // the assembly code uses its address
func superviseEnd() //nolint:unused // the assembly code uses its address

// instruction is one system call of a program. The assembly code depends on the layout of this
// struct.
type instruction struct {
	nr    uint32
	flags uint32
	out   uint32 // the slot (or, with flagOutData, the offset in the data) that receives the result; 0 means none
	step  uint32 // the index of the step that the error names if this call fails
	args  [6]uint64
}

// Flags of an instruction. flagSlot and flagData are shifted left by the number of the argument.
const (
	flagSlot    = 1 << 0  // the argument is the value of a slot
	flagData    = 1 << 8  // the argument is an offset in the data
	flagIgnore  = 1 << 16 // a failure is ignored
	flagOutData = 1 << 17
	flagFork    = 1 << 18 // if the result is 0, skip out instructions; otherwise store the result in the data at the last argument
)

// The first slots. Slots 0 and 1 report a failure.
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
