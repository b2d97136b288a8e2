// Package procgroup starts programs that are ended together with what they start.
//
//	cmd.SysProcAttr = procgroup.Own()
//	…
//	procgroup.Signal(cmd.Process, syscall.SIGTERM)
package procgroup
