//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
)

// daemons measures the cost of the daemon: the time from a decision to the tool, the time to send
// an event to a thousand subscribers, and the memory of a thousand idle connections.
func (b *bench) daemons(ctx context.Context) error {
	if err := b.decisions(ctx); err != nil {
		return err
	}
	figures, err := b.partBench(ctx, "./internal/daemon", "^BenchmarkSubscribers$", "300x")
	if err != nil {
		return err
	}
	p50, err := figures.find("BenchmarkSubscribers", "ms-p50")
	p99, err2 := figures.find("BenchmarkSubscribers", "ms-p99")
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	b.add("an event to 1,000 subscribers of a run", fmt.Sprintf("p50 %.1f ms, p99 %.1f ms", p50, p99), "", "", goal("p99 ≤ 20 ms", p99 <= 20))
	if figures, err = b.partBench(ctx, "./internal/daemon", "^BenchmarkIdleConnections$", "1x"); err != nil {
		return err
	}
	mib, err := figures.find("BenchmarkIdleConnections", "MiB/1000")
	if err != nil {
		return err
	}
	b.add("1,000 idle connections, including their clients", fmt.Sprintf("%.1f MiB", mib), "", "", goalAtMost(40, "MiB", mib))
	return nil
}

// decisions compares the time from a client's decision to the tool with the time of an echo and one
// append, alternately.
func (b *bench) decisions(ctx context.Context) error {
	subject, control, ratios := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	quantiles := []string{"p50", "p99"}
	for range b.rounds(5, 1) {
		figures, err := b.partBench(ctx, "./internal/daemon", "^BenchmarkDecision$", "400x")
		if err != nil {
			return err
		}
		for _, q := range quantiles {
			o, err := figures.find("BenchmarkDecision", "µs-"+q)
			c, err2 := figures.find("BenchmarkDecision", "µs-control-"+q)
			r, err3 := figures.find("BenchmarkDecision", "ratio-"+q)
			if err := errors.Join(err, err2, err3); err != nil {
				return err
			}
			subject[q], control[q], ratios[q] = append(subject[q], o), append(control[q], c), append(ratios[q], r)
		}
	}
	for i, q := range quantiles {
		b.add("decision → tool starts, "+q, nanos(middle(subject[q])*1000), "echo and one append "+nanos(middle(control[q])*1000),
			quartiles(ratios[q], "×"), goalAtMost([]float64{1.5, 2}[i], "×", middle(ratios[q])))
	}
	return nil
}
