// Package procgroup starts a program in its own process group and signals the whole group.
//
//	cmd.SysProcAttr = procgroup.NewGroup()
//	…
//	procgroup.Signal(cmd.Process, syscall.SIGTERM)
package procgroup
