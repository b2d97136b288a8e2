//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
)

// systemCalls measures the cost of Holdfast's filter per system call, compared with that of the
// smallest possible filter.
func (b *bench) systemCalls(ctx context.Context) error {
	figures, err := b.partBench(ctx, "./internal/sandbox/seccomp", "^BenchmarkCall$", "0.4s")
	if err != nil {
		return err
	}
	for _, call := range []string{"getppid", "ioctl", "openat"} {
		at := func(filter string) (float64, error) {
			return figures.find("BenchmarkCall/"+call+"/"+filter, "best-ns/call")
		}
		bare, err := at("bare")
		least, err2 := at("least")
		tree, err3 := at("tree")
		linear, err4 := at("linear")
		if err := errors.Join(err, err2, err3, err4); err != nil {
			return err
		}
		b.add("system call: "+call+", our filter", fmt.Sprintf("%.0f ns", tree),
			fmt.Sprintf("no filter %.0f ns, one that allows all +%.0f, a linear one +%.0f", bare, least-bare, linear-bare),
			fmt.Sprintf("+%.0f ns", tree-bare), goal("≤ +20 ns", tree-bare <= 20))
	}
	return nil
}

// downloads measures the speed of a download through Holdfast's proxy as a share of a direct
// download.
func (b *bench) downloads(ctx context.Context) error {
	figures, err := b.partBench(ctx, "./internal/sandbox/egress", "^Benchmark(TLS)?Download$", "4s")
	if err != nil {
		return err
	}
	found := false
	for _, f := range figures {
		kind, ok := strings.CutSuffix(f.unit, "/direct")
		if !ok {
			continue
		}
		found = true
		name := strings.TrimPrefix(f.name, "Benchmark")
		b.add("proxy: "+name+" by "+kind, fmt.Sprintf("%.0f %%", 100*f.value), "direct loopback", ratioText(f.value), goalAtLeast(0.8, "×", f.value))
	}
	if !found {
		return errors.New("the download benchmark reports no share of a direct download")
	}
	return nil
}

// figure is one number of a Go benchmark.
type figure struct {
	name, unit string
	value      float64
}

type figures []figure

func (f figures) find(name, unit string) (float64, error) {
	i := slices.IndexFunc(f, func(x figure) bool { return x.name == name && x.unit == unit })
	if i < 0 {
		return 0, fmt.Errorf("the benchmark reports no %s of %s", unit, name)
	}
	return f[i].value, nil
}

// partBench runs Go benchmarks of a package. They measure parts that cannot be measured from
// outside the package.
func (b *bench) partBench(ctx context.Context, pkg, pattern, long string) (figures, error) {
	if b.quick {
		long = "0.1s"
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", pattern, "-benchtime", long, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", pkg, err, bytes.TrimSpace(out))
	}
	return parseFigures(string(out)), nil
}

// parseFigures reads the output of go test: name-2  count  value unit  value unit …
func parseFigures(text string) figures {
	var list figures
	for s := bufio.NewScanner(strings.NewReader(text)); s.Scan(); {
		f := strings.Fields(s.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := f[0]
		if at := strings.LastIndexByte(name, '-'); at > 0 {
			if _, err := strconv.Atoi(name[at+1:]); err == nil {
				name = name[:at]
			}
		}
		for i := 2; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil {
				list = append(list, figure{name, f[i+1], v})
			}
		}
	}
	return list
}
