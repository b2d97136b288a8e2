//go:build linux

package main

import (
	"context"
	"os/exec"
	"slices"
	"time"
)

// sandboxedRun measures how much the sandbox adds to a durable tool turn. Runs with and without the
// sandbox alternate, and a ratio compares the two runs of one pair.
func (b *bench) sandboxedRun(ctx context.Context, s *modelServer, subject client) error {
	const calls = 20
	free := client{subject.name + " without sandbox", func(ctx context.Context, url, dir string) *exec.Cmd {
		cmd := subject.cmd(ctx, url, dir)
		cmd.Args = slices.Insert(cmd.Args, len(cmd.Args)-1, "--no-sandbox") // before the prompt
		return cmd
	}}
	var held, loose []time.Duration
	var ratios []float64
	for i := range b.rounds(12, 4) {
		pair := []client{subject, free}
		if i%2 == 1 {
			slices.Reverse(pair)
		}
		took := map[string]time.Duration{}
		for _, c := range pair {
			o, err := b.runClient(ctx, s, c, calls)
			if err != nil {
				return err
			}
			took[c.name] = median(o.gaps)
		}
		if i == 0 {
			continue // warm-up
		}
		held, loose = append(held, took[subject.name]), append(loose, took[free.name])
		ratios = append(ratios, float64(took[subject.name])/float64(took[free.name]))
	}
	b.add("per tool turn, in the sandbox", micros(median(held)), "without sandbox "+micros(median(loose)), ratioText(middle(ratios)), "≤ 1.3 ×")
	return nil
}
