//go:build !unix

package vendortest

import "os/exec"

func group(*exec.Cmd) {}

func end(cmd *exec.Cmd) { _ = cmd.Process.Kill() }
