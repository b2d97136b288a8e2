package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// run runs one command in a terminal of its own. Exit codes are not errors: policy explain returns its answer as
// one, and a killed run has one.
func run(c command, sc recording, dir string, env []string) ([]chunk, error) {
	master, slave, err := openTerminal(sc.columns, sc.rows)
	if err != nil {
		return nil, err
	}
	defer master.Close()
	cmd := exec.Command("/bin/sh", "-c", "exec "+c.line)
	cmd.Dir, cmd.Env = dir, env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if os.Getuid() == 0 {
		cmd.Args[2], cmd.Env = enter, append(env, "LINE="+c.line)
		cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	_ = slave.Close()
	defer func() { _ = cmd.Wait() }()

	var chunks []chunk
	var seen bytes.Buffer
	began, answers, buf := time.Now(), c.answers, make([]byte, 1<<16)
	for time.Since(began) < commandTimeout {
		_ = master.SetReadDeadline(time.Now().Add(idleTime))
		n, err := master.Read(buf)
		if n > 0 {
			seen.Write(buf[:n])
			chunks = append(chunks, chunk{time.Since(began), string(buf[:n])})
			if c.kill != "" && strings.Contains(seen.String(), c.kill) {
				time.Sleep(idleTime)
				_ = cmd.Process.Kill()
				return append(chunks, chunk{time.Since(began), "\r\x1b[K\x1b[31mKilled\x1b[0m\r\n"}), nil
			}
			continue
		}
		if !errors.Is(err, os.ErrDeadlineExceeded) { // EIO: the command has ended
			if len(answers) > 0 {
				return nil, fmt.Errorf("ended before %q appeared:\n%s", answers[0].after, seen.String())
			}
			return chunks, nil
		}
		if len(answers) > 0 && strings.Contains(seen.String(), answers[0].after) {
			if _, err := master.WriteString(answers[0].keys); err != nil {
				return nil, err
			}
			answers = answers[1:]
			seen.Reset()
		}
	}
	_ = cmd.Process.Kill()
	return nil, fmt.Errorf("still running after %s:\n%s", commandTimeout, seen.String())
}

func openTerminal(columns, rows int) (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	master = os.NewFile(uintptr(fd), "ptmx")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)})
	}
	if err == nil {
		slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	return master, slave, err
}
