//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// starts measures what starting the program costs before the program does anything.
func (b *bench) starts(ctx context.Context) error {
	holdfast, err := b.build(ctx, "./cmd/holdfast", "holdfast")
	if err != nil {
		return err
	}
	empty, err := b.build(ctx, "./bench/empty", "empty")
	if err != nil {
		return err
	}
	var program, control []time.Duration
	for i := range b.rounds(60, 15) {
		for _, p := range []struct {
			args []string
			into *[]time.Duration
		}{{[]string{holdfast, "version"}, &program}, {[]string{empty}, &control}} {
			t0 := time.Now()
			if err := exec.CommandContext(ctx, p.args[0], p.args[1:]...).Run(); err != nil {
				return err
			}
			if i > 0 {
				*p.into = append(*p.into, time.Since(t0))
			}
		}
	}
	b.add("holdfast version", micros(median(program)), "empty Go program "+micros(median(control)), ratio(median(program), median(control)),
		goalAtMost(1.5, "×", share(median(program), median(control))))
	if err := b.size(holdfast, empty); err != nil {
		return err
	}
	peak, err := b.peakMemory(ctx, holdfast, "version")
	if err != nil {
		return err
	}
	bare, err := b.peakMemory(ctx, empty)
	if err != nil {
		return err
	}
	b.add("holdfast version: peak memory", mebibytes(peak), "empty Go program "+mebibytes(bare), ratioText(float64(peak)/float64(bare)),
		goalAtMost(16, "MiB", float64(peak)/1024))
	return nil
}

// size adds the size of the program, in millions of bytes.
func (b *bench) size(program, control string) error {
	var mb [2]float64
	for i, file := range []string{program, control} {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		mb[i] = float64(info.Size()) / 1e6
	}
	b.add("binary, stripped", fmt.Sprintf("%.1f MB", mb[0]), fmt.Sprintf("empty Go program %.1f MB", mb[1]), "", goalAtMost(40, "MB", mb[0]))
	return nil
}

func mebibytes(kib int) string { return fmt.Sprintf("%.1f MiB", float64(kib)/1024) }

// peakMemory returns the peak memory of a program in KiB.
func (b *bench) peakMemory(ctx context.Context, args ...string) (int, error) {
	launch, err := b.build(ctx, "./bench/launch", "launch")
	if err != nil {
		return 0, err
	}
	cmd := exec.CommandContext(ctx, launch, args...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(string(out)))
}
