//go:build linux

// Command launch runs a program and prints its peak memory in KiB. A process's resource usage begins with the
// size of its parent, so only a small parent can measure a small program.
//
//	launch PROGRAM [ARGUMENT ...]
package main

import (
	"os"
	"strconv"
	"syscall"
)

func main() {
	null, err := syscall.Open("/dev/null", syscall.O_RDWR, 0)
	if err != nil {
		fail(err.Error())
	}
	pid, err := syscall.ForkExec(os.Args[1], os.Args[1:], &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{uintptr(null), uintptr(null), 2}})
	if err != nil {
		fail(err.Error())
	}
	var status syscall.WaitStatus
	var usage syscall.Rusage
	if _, err := syscall.Wait4(pid, &status, 0, &usage); err != nil {
		fail(err.Error())
	}
	if status != 0 {
		fail("status " + strconv.Itoa(int(status)))
	}
	os.Stdout.WriteString(strconv.FormatInt(usage.Maxrss, 10) + "\n")
}

func fail(text string) {
	os.Stderr.WriteString("launch: " + text + "\n")
	os.Exit(1)
}
