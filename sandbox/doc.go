// Package sandbox confines commands with the Linux kernel and checks paths, commands and hosts against
// the same settings. It limits what commands can do, even if the policy allowed them. Both halves
// are built from the same settings: the checker runs before an action, and the kernel enforces the
// settings while the command runs.
//
//	JSON ─ Decode ─► Settings ─ NewChecker ─► Checker ─ CheckPath, CheckCommand, CheckHost ─► nil or *Denial
//	                                             │ Evaluate: a limit of guards                (path, rule, setting)
//	                                             ▼
//	                            Open: the checkers of all layers ─► Sandbox ─ Command ─► Cmd ─► Report
//	                                             │                              ▲    (which path, host, call)
//	                       kernel.Policy ─► kernel.Jail ─────── confines ───────┘
//	                       egress.Proxy ──────────────────────── the only network path
//
// The checker has no side effects and works on every system. internal/shellparse parses the
// commands. A line is denied if it contains a denied command anywhere, or if an allow list does not
// contain every command of it. A line that cannot be parsed is denied if anything is restricted.
// The checker does not see what a program does beyond its command line.
//
// The kernel half needs Linux on amd64 or arm64 and no helper program; arm64 is compiled and vetted
// but not tested. It also restricts what no setting names: commands can write only to the workspace
// and a private /tmp, cannot see secrets, cannot change files that decide what other programs do,
// and have no network. If a setting cannot be enforced completely, Open returns an *[Error] and
// nothing runs. If namespaces are not available, Landlock and seccomp alone are used only if a
// trusted layer sets enableWeakerNestedSandbox. On other systems Open returns
// [kernelFields.ErrUnsupported], and settings that only the kernel could enforce are rejected when they
// are read; the caller, not this package, decides whether a command then runs unconfined.
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
// The sandbox is not a virtual machine: commands share the kernel and can read what it reveals about
// the machine, such as its load and version. docs/reference/sandbox.md describes each setting.
package sandbox
