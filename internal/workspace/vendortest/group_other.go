//go:build !unix

package vendortest

import "os/exec"

func setProcessGroup(*exec.Cmd) {}

func kill(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
