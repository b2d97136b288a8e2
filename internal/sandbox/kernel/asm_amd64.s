//go:build linux

#include "textflag.h"

// The numbers of system calls are those of x86-64.
#define SYS_write 1
#define SYS_rt_sigprocmask 14
#define SYS_wait4 61
#define SYS_kill 62
#define SYS_rt_sigtimedwait 128
#define SYS_prctl 157
#define SYS_exit_group 231

// ARG loads an argument of the instruction at R12: as it is, or the value of a
// slot (R13), or an address in the data (BX). R15 has the flags.
#define ARG(offset, slot, data, reg) \
	MOVQ  offset(R12), reg     \
	TESTL $slot, R15           \
	JZ    2(PC)                \
	MOVQ  (R13)(reg*8), reg    \
	TESTL $data, R15           \
	JZ    2(PC)                \
	ADDQ  BX, reg

// interpret runs instructions until one executes a program. It uses no stack and
// never returns.
TEXT interpret<>(SB), NOSPLIT|NOFRAME, $0
next:
	MOVL 0(R12), AX
	MOVL 4(R12), R15
	ARG(16, 0x01, 0x0100, DI)
	ARG(24, 0x02, 0x0200, SI)
	ARG(32, 0x04, 0x0400, DX)
	ARG(40, 0x08, 0x0800, R10)
	ARG(48, 0x10, 0x1000, R8)
	ARG(56, 0x20, 0x2000, R9)
	SYSCALL
	CMPQ AX, $0xfffffffffffff001
	JLS  fine
	TESTL $0x10000, R15
	JNZ  step
	NEGQ AX
	MOVQ AX, 0(R13)
	MOVL 12(R12), CX
	MOVQ CX, 8(R13)
	MOVL $SYS_exit_group, AX
	MOVL $126, DI
	SYSCALL
	INT  $3
fine:
	MOVL 8(R12), CX
	TESTL CX, CX
	JZ   step
	TESTL $0x40000, R15
	JNZ  fork
	TESTL $0x20000, R15
	JNZ  indata
	MOVQ AX, (R13)(CX*8)
	JMP  step
indata:
	MOVL AX, (BX)(CX*1)
step:
	ADDQ $64, R12
	JMP  next
fork:
	TESTQ AX, AX
	JNZ  forked
	SHLQ $6, CX
	ADDQ CX, R12
	JMP  next
forked:
	MOVQ 56(R12), CX
	MOVL AX, (BX)(CX*1)
	JMP  step

// func spawn(nr, a1, a2, a3 uintptr, ops *instruction, slots *uint64, data *byte) int64
TEXT ·spawn(SB), NOSPLIT, $16-64
	MOVQ $-1, AX
	MOVQ AX, all-8(SP)
	MOVL $SYS_rt_sigprocmask, AX
	MOVL $2, DI
	LEAQ all-8(SP), SI
	LEAQ old-16(SP), DX
	MOVL $8, R10
	SYSCALL
	MOVQ ops+32(FP), R12
	MOVQ slots+40(FP), R13
	MOVQ data+48(FP), BX
	MOVQ nr+0(FP), AX
	MOVQ a1+8(FP), DI
	MOVQ a2+16(FP), SI
	MOVQ a3+24(FP), DX
	XORL R10, R10
	XORL R8, R8
	SYSCALL
	TESTQ AX, AX
	JNZ  parent
	JMP  interpret<>(SB)
parent:
	MOVQ AX, ret+56(FP)
	MOVL $SYS_rt_sigprocmask, AX
	MOVL $2, DI
	LEAQ old-16(SP), SI
	XORL DX, DX
	MOVL $8, R10
	SYSCALL
	RET

// func become(ops *instruction, slots *uint64, data *byte)
TEXT ·become(SB), NOSPLIT, $16-24
	MOVQ $-1, AX
	MOVQ AX, all-8(SP)
	MOVL $SYS_rt_sigprocmask, AX
	MOVL $2, DI
	LEAQ all-8(SP), SI
	XORL DX, DX
	MOVL $8, R10
	SYSCALL
	MOVQ ops+0(FP), R12
	MOVQ slots+8(FP), R13
	MOVQ data+16(FP), BX
	JMP  interpret<>(SB)

// supervise is the whole text of init, process 1 of a command's pid namespace; it
// is copied into a program of its own and knows no address. Its arguments are
// the number of the control descriptor in decimal, and one byte: the process id of
// the command, which was started beside it. All signals are blocked; it takes them one by one. When the command has
// ended, it kills all others, waits for them and tells how the command ended; so
// nobody has to wait for the end of the namespaces.
TEXT ·supervise(SB), NOSPLIT|NOFRAME, $0
	MOVQ 24(SP), CX
	MOVBLZX (CX), R12      // the command
	MOVQ 16(SP), SI
	SUBQ $512, SP
	MOVQ $-1, AX
	MOVQ AX, 0(SP)         // every signal
	XORL R13, R13          // the control descriptor, from decimal
digit:
	MOVBLZX (SI), AX
	TESTL AX, AX
	JZ   parsed
	SUBL $48, AX
	IMULQ $10, R13
	ADDQ AX, R13
	INCQ SI
	JMP  digit
parsed:
	MOVL $SYS_prctl, AX    // PR_SET_DUMPABLE: /proc/1 shows nothing
	MOVL $4, DI
	XORL SI, SI
	SYSCALL
reap:
	MOVL $SYS_wait4, AX
	MOVQ $-1, DI
	LEAQ 20(SP), SI
	MOVL $1, DX            // WNOHANG
	LEAQ 24(SP), R10       // what it used
	SYSCALL
	CMPQ AX, R12
	JEQ  ended
	TESTQ AX, AX
	JGT  reap
wait:
	MOVL $SYS_rt_sigtimedwait, AX
	MOVQ SP, DI
	LEAQ 256(SP), SI
	XORL DX, DX
	MOVL $8, R10
	SYSCALL
	TESTQ AX, AX
	JLE  wait
	CMPQ AX, $17           // SIGCHLD
	JEQ  reap
	MOVL 264(SP), CX       // si_code
	CMPQ AX, $29           // SIGIO
	JNE  relay
	CMPL CX, $6            // POLL_HUP: whoever started us is gone
	JNE  relay
	JMP  exit
relay:
	TESTL CX, CX           // what the kernel sends, the command has got by itself
	JGT  wait
	MOVQ AX, SI
	MOVL $SYS_kill, AX
	MOVQ R12, DI
	SYSCALL
	JMP  wait
ended:
	MOVL 20(SP), R14
	MOVL $SYS_kill, AX     // all but this one
	MOVQ $-1, DI
	MOVL $9, SI
	SYSCALL
rest:
	MOVL $SYS_wait4, AX
	MOVQ $-1, DI
	XORL SI, SI
	XORL DX, DX
	XORL R10, R10
	SYSCALL
	TESTQ AX, AX
	JGT  rest
	MOVL $0x53, 16(SP)     // 'S', status, usage
	MOVL R14, 20(SP)
	MOVL $SYS_write, AX
	MOVQ R13, DI
	LEAQ 16(SP), SI
	MOVL $152, DX
	SYSCALL
exit:
	MOVL $SYS_exit_group, AX
	XORL DI, DI
	SYSCALL
	INT  $3

TEXT ·superviseEnd(SB), NOSPLIT|NOFRAME, $0
	RET

DATA ·superviseText+0(SB)/8, $·supervise(SB)
DATA ·superviseText+8(SB)/8, $·superviseEnd(SB)
GLOBL ·superviseText(SB), RODATA, $16
