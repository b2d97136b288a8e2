//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// hooks measures the cost of hooks: twenty hook functions without output for one tool call, and the
// time that a command hook takes in addition to its command.
func (b *bench) hooks(ctx context.Context) error {
	if err := b.functionHooks(ctx); err != nil {
		return err
	}
	return b.commandHooks(ctx)
}

// functionHooks compares runs without hooks and with hooks in each round, so that a busy disk
// affects both in the same way.
func (b *bench) functionHooks(ctx context.Context) error {
	bare, all, added := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	stores := []string{"memory", "sqlite"}
	for range b.rounds(7, 2) {
		figures, err := b.partBench(ctx, "./agent", "^BenchmarkHooks$", "0.4s")
		if err != nil {
			return err
		}
		for _, s := range stores {
			without, err := figures.find("BenchmarkHooks/"+s+"/hooks=0", "ns/call")
			with, err2 := figures.find("BenchmarkHooks/"+s+"/hooks=20", "ns/call")
			if err := errors.Join(err, err2); err != nil {
				return err
			}
			bare[s], all[s], added[s] = append(bare[s], without), append(all[s], with), append(added[s], with-without)
		}
	}
	for _, s := range stores {
		b.add("20 function hooks, one tool call, store in "+s, nanos(middle(all[s])), "without hooks "+nanos(middle(bare[s])),
			fmt.Sprintf("%+.1f µs (%+.1f to %+.1f)", middle(added[s])/1000, interpolatedQuantile(added[s], 0.25)/1000, interpolatedQuantile(added[s], 0.75)/1000), goal("≤ +50 µs", middle(added[s]) <= 50_000))
	}
	return nil
}

// commandHooks compares command hooks with starting the same shell directly.
func (b *bench) commandHooks(ctx context.Context) error {
	figures, err := b.partBench(ctx, "./hook", "^BenchmarkCommand$", "3s")
	if err != nil {
		return err
	}
	for _, c := range []struct{ name, what string }{
		{"group", "no sandbox, ended by its process group"},
		{"off", "no sandbox, ended by its pid namespace"},
		{"read", "sandbox, may read the project"},
		{"write", "sandbox, may write the project"},
	} {
		for _, script := range []string{"exit 0", "cat >/dev/null; echo '{}'"} {
			name := "BenchmarkCommand/" + c.name + "/" + strings.ReplaceAll(script, " ", "_")
			at := func(unit string) (float64, error) { return figures.find(name, unit) }
			bare, err := at("bare-µs")
			hook, err2 := at("hook-µs")
			ratio, err3 := at("medians")
			if err := errors.Join(err, err2, err3); err != nil {
				return err
			}
			b.add(fmt.Sprintf("command hook %q, %s", script, c.what), nanos(hook*1000), "bash -c alone "+nanos(bare*1000),
				fmt.Sprintf("adds %.2f ×", ratio-1), goal("adds ≤ 1.3 ×", ratio-1 <= 1.3))
		}
	}
	return nil
}

func nanos(ns float64) string { return micros(time.Duration(ns)) }
