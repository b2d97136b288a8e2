// Package sandbox says what can happen, whatever was allowed. So far it is the
// pure half: the settings of seed 000 and the checker that compares paths,
// commands and hosts with them. The kernel half comes next; settings that need
// it are refused until then.
//
//	JSON ─ Decode ─► Settings ─ NewChecker ─► Checker ─ CheckPath, CheckCommand, CheckHost ─► nil or *Denial
//	                                            └ Evaluate: a limit of guards                 (path, rule, setting)
//
// Commands are read by policy/shellread: a deny needs one denied command anywhere
// in the line, an allow needs every one allowed, and what cannot be read is denied
// wherever anything is restricted. What a program does that is not in its line is
// not seen here. docs/sandbox.md says what each setting means.
//
//	c, err := sandbox.NewChecker(&sandbox.Settings{DeniedCommands: []string{"rm"}}, nil)
//	err = c.CheckCommand("echo $(rm x)", "/w")
package sandbox
