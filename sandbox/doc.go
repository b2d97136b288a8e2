// Package sandbox says what can happen, whatever was allowed. So far it is the
// pure half: the settings of seed 000 and the checker that compares paths and
// commands with them. The kernel half comes next.
//
//	Settings ─► Checker ─ CheckPath, CheckCommand ─► nil or *Denial (path, rule, setting)
//
// Commands are read by policy/shellread: a deny needs one denied command anywhere
// in the line, an allow needs every one allowed, and what cannot be read is denied
// wherever a list of commands is set.
//
//	c, err := sandbox.NewChecker(&sandbox.Settings{DeniedCommands: []string{"rm"}}, nil)
//	err = c.CheckCommand("echo $(rm x)", "/w")
package sandbox
