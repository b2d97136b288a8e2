// Package escape contains the tests that attack the kernel sandbox. About two hundred attempts, as
// root and as an ordinary user, try to read, write, reach, outlive or take over something outside
// of the sandbox.
//
//	attempt ─┬─► without a sandbox ──► must succeed, and the host must see its effect
//	         └─► in the sandbox ─────► must fail, and the host must see no effect
//
// The test binary has three roles: the test, which owns the targets; the supervisor, which opens the sandbox
// as a caller does; and the probe, which runs inside and makes the attempts. Each run creates new targets: a
// workspace with a repository, secrets, a home folder, servers, shared memory, a process, a terminal.
//
// An attempt that always fails proves nothing, so each attempt is also made without the sandbox, as
// a control. If the machine lacks something that an attempt needs, the reason is printed and
// counted.
package escape
