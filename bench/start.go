//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// starts measures what the program costs before it does anything.
func (b *bench) starts(ctx context.Context) error {
	holdfast, err := b.build(ctx, "./cmd/holdfast", "holdfast")
	if err != nil {
		return err
	}
	empty, err := b.build(ctx, "./bench/empty", "empty")
	if err != nil {
		return err
	}
	var ours, control []time.Duration
	for i := range b.rounds(60, 15) {
		for _, p := range []struct {
			args []string
			into *[]time.Duration
		}{{[]string{holdfast, "version"}, &ours}, {[]string{empty}, &control}} {
			t0 := time.Now()
			if err := exec.CommandContext(ctx, p.args[0], p.args[1:]...).Run(); err != nil {
				return err
			}
			if i > 0 {
				*p.into = append(*p.into, time.Since(t0))
			}
		}
	}
	b.add("holdfast version", micros(median(ours)), "empty Go program "+micros(median(control)), ratio(median(ours), median(control)), "≤ 3 ×")
	peak, err := launched(ctx, holdfast, "version")
	if err != nil {
		return err
	}
	least, err := launched(ctx, empty)
	if err != nil {
		return err
	}
	b.add("holdfast version: peak memory", fmt.Sprintf("%.1f MiB", float64(peak)/1024), fmt.Sprintf("empty Go program %.1f MiB", float64(least)/1024), "", "≤ 16 MiB")
	return nil
}

// A process's resource usage begins with its parent's size, so the peak of a
// small program can only be read through a small parent: /usr/bin/env -i sh
// would do; here it is this program itself, started again.
const launchFlag = "-launch"

func launched(ctx context.Context, args ...string) (int, error) {
	self, err := os.Executable()
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, self, append([]string{launchFlag}, args...)...)
	var out bytes.Buffer
	cmd.Stderr = &out
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("%w: %s", err, out.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	return strconv.Atoi(lines[len(lines)-1])
}

// launch runs a program and prints its peak memory in KiB.
func launch(args []string) {
	cmd := exec.Command(args[0], args[1:]...)
	if err := cmd.Run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Fprintln(os.Stderr, maxRSS(cmd.ProcessState))
}
