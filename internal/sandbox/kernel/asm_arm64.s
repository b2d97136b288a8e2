//go:build linux

#include "textflag.h"

// The numbers of system calls are those of arm64.
#define SYS_write 64
#define SYS_exit_group 94
#define SYS_kill 129
#define SYS_rt_sigprocmask 135
#define SYS_rt_sigtimedwait 137
#define SYS_prctl 167
#define SYS_wait4 260

// ARG loads an argument of the instruction at R19: as it is, or the value of a
// slot (R20), or an address in the data (R21). R22 has the flags.
#define ARG(offset, slot, data, reg) \
	MOVD offset(R19), reg      \
	TBZ  $slot, R22, 2(PC)     \
	MOVD (R20)(reg<<3), reg    \
	TBZ  $data, R22, 2(PC)     \
	ADD  R21, reg, reg

// interpret runs instructions until one executes a program. It uses no stack and
// never returns.
TEXT interpret<>(SB), NOSPLIT|NOFRAME, $0
next:
	MOVWU 0(R19), R8
	MOVWU 4(R19), R22
	ARG(16, 0, 8, R0)
	ARG(24, 1, 9, R1)
	ARG(32, 2, 10, R2)
	ARG(40, 3, 11, R3)
	ARG(48, 4, 12, R4)
	ARG(56, 5, 13, R5)
	SVC
	CMN  $4095, R0
	BLO  fine
	TBNZ $16, R22, step
	NEG  R0, R0
	MOVD R0, 0(R20)
	MOVWU 12(R19), R1
	MOVD R1, 8(R20)
	MOVD $SYS_exit_group, R8
	MOVD $126, R0
	SVC
	BRK
fine:
	MOVWU 8(R19), R1
	CBZ  R1, step
	TBNZ $18, R22, fork
	TBNZ $17, R22, indata
	MOVD R0, (R20)(R1<<3)
	B    step
indata:
	MOVW R0, (R21)(R1)
step:
	ADD  $64, R19
	B    next
fork:
	CBNZ R0, forked
	ADD  R1<<6, R19
	B    next
forked:
	MOVD 56(R19), R1
	MOVW R0, (R21)(R1)
	B    step

// func spawn(nr, a1, a2, a3 uintptr, ops *instruction, slots *uint64, data *byte) int64
TEXT ·spawn(SB), NOSPLIT, $16-64
	MOVD $-1, R0
	MOVD R0, all-8(SP)
	MOVD $SYS_rt_sigprocmask, R8
	MOVD $2, R0
	MOVD $all-8(SP), R1
	MOVD $old-16(SP), R2
	MOVD $8, R3
	SVC
	MOVD ops+32(FP), R19
	MOVD slots+40(FP), R20
	MOVD data+48(FP), R21
	MOVD nr+0(FP), R8
	MOVD a1+8(FP), R0
	MOVD a2+16(FP), R1
	MOVD a3+24(FP), R2
	MOVD ZR, R3
	MOVD ZR, R4
	SVC
	CBNZ R0, parent
	B    interpret<>(SB)
parent:
	MOVD R0, ret+56(FP)
	MOVD $SYS_rt_sigprocmask, R8
	MOVD $2, R0
	MOVD $old-16(SP), R1
	MOVD ZR, R2
	MOVD $8, R3
	SVC
	RET

// func become(ops *instruction, slots *uint64, data *byte)
TEXT ·become(SB), NOSPLIT, $16-24
	MOVD $-1, R0
	MOVD R0, all-8(SP)
	MOVD $SYS_rt_sigprocmask, R8
	MOVD $2, R0
	MOVD $all-8(SP), R1
	MOVD ZR, R2
	MOVD $8, R3
	SVC
	MOVD ops+0(FP), R19
	MOVD slots+8(FP), R20
	MOVD data+16(FP), R21
	B    interpret<>(SB)

// supervise is the whole text of init, process 1 of a command's pid namespace; it
// is copied into a program of its own and knows no address. Its arguments are
// the number of the control descriptor in decimal, and one byte: the process id of
// the command, which was started beside it. All signals are blocked; it takes them one by one. When the command has
// ended, it kills all others, waits for them and tells how the command ended; so
// nobody has to wait for the end of the namespaces.
TEXT ·supervise(SB), NOSPLIT|NOFRAME, $0
	MOVD 24(RSP), R1
	MOVBU (R1), R19        // the command
	MOVD 16(RSP), R1
	SUB  $512, RSP
	MOVD $-1, R0
	MOVD R0, 0(RSP)        // every signal
	MOVD ZR, R20           // the control descriptor, from decimal
	MOVD $10, R2
digit:
	MOVBU (R1), R0
	CBZ  R0, parsed
	SUB  $48, R0
	MUL  R2, R20, R20
	ADD  R0, R20, R20
	ADD  $1, R1
	B    digit
parsed:
	MOVD $SYS_prctl, R8    // PR_SET_DUMPABLE: /proc/1 shows nothing
	MOVD $4, R0
	MOVD ZR, R1
	SVC
reap:
	MOVD $SYS_wait4, R8
	MOVD $-1, R0
	ADD  $20, RSP, R1
	MOVD $1, R2            // WNOHANG
	ADD  $24, RSP, R3      // what it used
	SVC
	CMP  R19, R0
	BEQ  ended
	CMP  $0, R0
	BGT  reap
wait:
	MOVD $SYS_rt_sigtimedwait, R8
	ADD  $0, RSP, R0
	ADD  $256, RSP, R1
	MOVD ZR, R2
	MOVD $8, R3
	SVC
	CMP  $0, R0
	BLE  wait
	CMP  $17, R0           // SIGCHLD
	BEQ  reap
	MOVW 264(RSP), R3      // si_code
	CMP  $29, R0           // SIGIO
	BNE  relay
	CMPW $6, R3            // POLL_HUP: whoever started us is gone
	BNE  relay
	B    exit
relay:
	CMPW $0, R3            // what the kernel sends, the command has got by itself
	BGT  wait
	MOVD R0, R1
	MOVD $SYS_kill, R8
	MOVD R19, R0
	SVC
	B    wait
ended:
	MOVWU 20(RSP), R21
	MOVD $SYS_kill, R8     // all but this one
	MOVD $-1, R0
	MOVD $9, R1
	SVC
rest:
	MOVD $SYS_wait4, R8
	MOVD $-1, R0
	MOVD ZR, R1
	MOVD ZR, R2
	MOVD ZR, R3
	SVC
	CMP  $0, R0
	BGT  rest
	MOVD $0x53, R1         // 'S', status, usage
	MOVW R1, 16(RSP)
	MOVW R21, 20(RSP)
	MOVD $SYS_write, R8
	MOVD R20, R0
	ADD  $16, RSP, R1
	MOVD $152, R2
	SVC
exit:
	MOVD $SYS_exit_group, R8
	MOVD ZR, R0
	SVC
	BRK

TEXT ·superviseEnd(SB), NOSPLIT|NOFRAME, $0
	RET

DATA ·superviseText+0(SB)/8, $·supervise(SB)
DATA ·superviseText+8(SB)/8, $·superviseEnd(SB)
GLOBL ·superviseText(SB), RODATA, $16
