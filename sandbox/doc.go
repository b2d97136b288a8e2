// Package sandbox says what can happen, whatever was allowed. It has two halves,
// made from the same settings: the checker compares paths, commands and hosts with
// them before anything happens, and the kernel holds what then runs.
//
//	JSON ─ Decode ─► Settings ─ NewChecker ─► Checker ─ CheckPath, CheckCommand, CheckHost ─► nil or *Denial
//	                                             │ Evaluate: a limit of guards                (path, rule, setting)
//	                                             ▼
//	                            Open: the checkers of all layers ─► Sandbox ─ Command ─► Cmd ─► Report
//	                                             │                              ▲    (which path, host, call)
//	                       kernel.Policy ─► kernel.Jail ──────── holds ─────────┘
//	                       egress.Proxy ──────────────────────── the one way out
//
// The checker is pure and works on every system. Commands are read by
// internal/shellparse: a deny needs one denied command anywhere in the line, an allow
// needs every one allowed, and what cannot be read is denied wherever anything is
// restricted. What a program does that is not in its line it does not see.
//
// The kernel half needs Linux on amd64 or arm64, and no helper program; of these,
// arm64 is compiled and vetted, and not run. Whatever no setting names is held too:
// commands write the workspace and a /tmp of their own, see no secrets, cannot change
// what decides about other programs, and have no network. What cannot be held whole is
// an *[Error], and nothing runs. Only where a trusted layer says
// enableWeakerNestedSandbox do Landlock and seccomp alone do where namespaces are
// refused. On other systems Open returns [kernel.ErrUnsupported], and settings that
// only the kernel could hold are refused when they are read; whether a command then
// runs without is its caller's decision, not this package's.
//
//	c, err := sandbox.NewChecker(&sandbox.Settings{DeniedCommands: []string{"rm"}}, nil)
//	err = c.CheckCommand("echo $(rm x)", "/w")
//
//	box, err := sandbox.Open([]*sandbox.Checker{c}, nil)
//	defer box.Close()
//	cmd := box.Command(ctx, "make", "test")
//	err = cmd.Run()
//	text := cmd.Report().Text() // what was refused, by which setting
//
// It is no virtual machine: commands share the kernel, and what it lets a process
// learn about the machine (its load, its version) stays in sight. docs/reference/sandbox.md
// says what each setting means.
package sandbox
