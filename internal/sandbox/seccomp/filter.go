//go:build linux && (amd64 || arm64)

package seccomp

// Filter returns the program that decides about each system call. It is installed
// by seccomp(2), after no_new_privs; with Options.Notify with the flags NEW_LISTENER
// and, where the kernel has it, WAIT_KILLABLE_RECV, without which a call that a
// signal interrupts is told twice. The kernel has one listener in a line of
// filters: where there is one already it answers EBUSY, and a filter without
// Notify is the one to use.
//
// No options are those of an empty struct. The answers:
//
//   - EPERM, and told to a [Watcher] if Options.Notify: what the sandbox is for.
//   - EPERM, not told: what programs try and go on without.
//   - ENOSYS: what a later kernel brought; clone3 and openat2, since what they do is
//     behind a pointer and callers fall back; the calls of another interface of the
//     processor (int 0x80, x32), which is what a kernel without it says. Killing
//     would tell no more and leave no program the choice.
func Filter(o *Options) ([]Instruction, error) {
	if o == nil {
		o = &Options{}
	}
	return assemble(arch, spans(rules(o)), o.Notify), nil
}

// spans lays the rules over the calls that there are.
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
