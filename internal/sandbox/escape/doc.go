// Package escape attacks the kernel sandbox. It has tests only: about two hundred
// attempts to read, write, reach, outlive or take over something outside, as root
// and as an ordinary user.
//
//	attempt ─┬─► plainly, without a sandbox ─► must succeed, and the host must see it
//	         └─► under the sandbox ──────────► must fail, and the host must see nothing
//
// The test binary is all three programs: the test, which owns what is attacked; the
// supervisor, which opens the sandbox as the caller would; and the probe, which runs
// inside and tries. What is attacked is made anew for each run: a workspace with a
// repository, secrets, a home folder, servers, shared memory, a process, a terminal.
//
// An attempt that succeeds nowhere proves nothing, so each has its control. Where a
// machine has not what an attempt needs, the reason is printed and counted.
package escape
