//go:build linux && (amd64 || arm64)

package seccomp

// Filter returns the filter program. Install it with seccomp(2) after no_new_privs. With
// Options.Notify, use the flag NEW_LISTENER and, if the kernel has it, WAIT_KILLABLE_RECV. Without
// WAIT_KILLABLE_RECV, a call that a signal interrupts is reported twice. The kernel allows one
// listener in a chain of filters: if there is one already, it returns EBUSY, and a filter without
// Notify must be used.
//
// Nil options mean an empty struct. The answers:
//
//   - EPERM, and reported to a [Watcher] if Options.Notify is set: the calls that the sandbox exists to refuse.
//   - EPERM, not reported: calls that programs try and continue without.
//   - ENOSYS: calls of later kernels; clone3 and openat2, because their arguments are behind a pointer and
//     callers fall back to older calls; calls of another interface of the processor (int 0x80, x32), because a
//     kernel without that interface returns the same. Killing the process would reveal no more and would
//     leave the program no choice.
func Filter(o *Options) ([]Instruction, error) {
	if o == nil {
		o = &Options{}
	}
	return assemble(arch, spans(rules(o)), o.Notify), nil
}

// spans applies the rules to all known call numbers.
func spans(rules map[uint32]*decision) []span {
	last := known[len(known)-1][1]
	all := []span{{0, nil}}
	add := func(nr uint32, d *decision) {
		if all[len(all)-1].decision != d {
			all = append(all, span{nr, d})
		}
	}
	run := 0
	for nr := range last + 1 {
		if nr > known[run][1] {
			run++
		}
		switch d, ruled := rules[nr]; {
		case nr < known[run][0]:
			add(nr, returnNoSys)
		case ruled:
			add(nr, d)
		default:
			add(nr, allow)
		}
	}
	add(last+1, returnNoSys)
	return all[1:]
}
