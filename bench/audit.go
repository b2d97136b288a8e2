//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
)

// audits measures the cost of the audit trail: its part of an append, the time of verification, and
// the time of masking.
func (b *bench) audits(ctx context.Context) error {
	if err := b.trailCost(ctx); err != nil {
		return err
	}
	if err := b.measureVerify(ctx); err != nil {
		return err
	}
	return b.measureMasking(ctx)
}

// trailCost compares durable appends with a trail and without one, alternately. Disk latency
// varies, so it reports the median of rounds.
func (b *bench) trailCost(ctx context.Context) error {
	with, without, ratios := map[string][]float64{}, map[string][]float64{}, map[string][]float64{}
	stores := []string{"sqlite", "file"}
	for range b.rounds(7, 2) {
		figures, err := b.partBench(ctx, "./audit", "^BenchmarkAppend$", "1s")
		if err != nil {
			return err
		}
		for _, s := range stores {
			w, err := figures.find("BenchmarkAppend/"+s, "µs-with")
			o, err2 := figures.find("BenchmarkAppend/"+s, "µs-without")
			r, err3 := figures.find("BenchmarkAppend/"+s, "ratio")
			if err := errors.Join(err, err2, err3); err != nil {
				return err
			}
			with[s], without[s], ratios[s] = append(with[s], w), append(without[s], o), append(ratios[s], r)
		}
	}
	for _, s := range stores {
		r := ratios[s]
		b.add("durable append with a trail, "+s, nanos(middle(with[s])*1000), "without "+nanos(middle(without[s])*1000),
			quartiles(r, "×"), goalAtMost(1.1, "×", middle(r)))
	}
	return nil
}

func (b *bench) measureVerify(ctx context.Context) error {
	figures, err := b.partBench(ctx, "./audit", "^BenchmarkVerify$", "5x")
	if err != nil {
		return err
	}
	for _, s := range []string{"sqlite", "file"} {
		ns, err := figures.find("BenchmarkVerify/"+s, "ns/op")
		if err != nil {
			return err
		}
		b.add("audit verify, 100,000 records of 1.4 KB, "+s, fmt.Sprintf("%.2f s", ns/1e9), "", fmt.Sprintf("%.0f records/s", 100_000/ns*1e9), "")
	}
	return nil
}

func (b *bench) measureMasking(ctx context.Context) error {
	figures, err := b.partBench(ctx, "./audit/secret", "^Benchmark(Text|JSON|New)$", "1s")
	if err != nil {
		return err
	}
	for _, c := range []struct{ name, what string }{
		{"Text/without", "text without secrets"},
		{"Text/one_in_1000_lines", "text with one in 1,000 lines"},
		{"Text/one_in_10_lines", "text with one in 10 lines"},
		{"JSON/without", "JSON without secrets"},
	} {
		v, err := figures.find("Benchmark"+c.name, "MB/s")
		if err != nil {
			return err
		}
		b.add("masking: "+c.what, fmt.Sprintf("%.0f MB/s", v), "", "", "")
	}
	ns, err := figures.find("BenchmarkNew", "ns/op")
	if err != nil {
		return err
	}
	b.add("masking: compiling the patterns", nanos(ns), "", "", "")
	return nil
}
