//go:build linux

// Command bench measures Holdfast against bare controls in one run and prints a
// table of medians and ratios.
//
//	go run -C bench .              everything, a few minutes
//	go run -C bench . -only turn   one group, or several with commas: append, stores (engine, session and import), turn (with resume), start,
//	                               sandbox, hooks, audit, daemon, workspaces (containers, warm and words)
//	go run -C bench . -quick       smaller sessions, fewer rounds
//
// It is a separate Go module and measures the checkout that contains it.
//
// Stores on servers are measured if their servers are available:
//
//	eval "$(scripts/services start postgres mysql redis s3)"
//
// Every row names its control: the simplest program that does the same work. Control and Holdfast
// run alternately on the same disk. Read the ratios; the absolute times are for orientation.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
)

func main() {
	var b bench
	flag.BoolVar(&b.quick, "quick", false, "smaller sessions and fewer rounds")
	flag.StringVar(&b.only, "only", "", "groups, with commas: append, stores (engine, session and import), turn (with resume), start, sandbox, hooks, audit, daemon, workspaces (containers, warm and words)")
	flag.StringVar(&b.container, "container", "", "a running container with /bin/true in it, for docker exec")
	flag.Parse()
	if err := b.checkout(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if err := b.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// bench is one run.
type bench struct {
	quick           bool
	only            string
	dir             string // a temporary folder on the disk that is measured
	rows            []row
	reportedMissing bool // the backends that are missing were already reported

	reportedNoEngine bool // the missing engine was already reported

	container string
}

// group is a set of rows that are measured together.
type group struct {
	name string
	of   string // the name of the group that contains this one
	run  func(context.Context) error
}

// row is one line of the table.
type row struct {
	what, measured, control, ratio, goal string
}

// checkout makes the checkout the current folder: programs and benchmarks are named relative to it.
func (*bench) checkout() error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/holdfast-dev/holdfast").Output()
	if err != nil {
		return fmt.Errorf("find the checkout: %w\nhint: go run -C bench .", err)
	}
	return os.Chdir(strings.TrimSpace(string(out)))
}

func (b *bench) run(ctx context.Context) (err error) {
	if b.dir, err = os.MkdirTemp("", "holdfast-bench-"); err != nil {
		return err
	}
	defer os.RemoveAll(b.dir)
	groups := []group{
		{"append", "", b.appends},
		{"engine", "stores", b.stores},
		{"session", "stores", b.sessions},
		{"import", "stores", b.imports},
		{"start", "", b.starts},
		{"turn", "", b.turns},
		{"resume", "turn", b.resume},
		{"sandbox", "", b.sandboxes},
		{"hooks", "", b.hooks},
		{"audit", "", b.audits},
		{"daemon", "", b.daemons},
		{"containers", "workspaces", b.containers},
		{"warm", "workspaces", b.warmTurns},
		{"words", "workspaces", b.vendorTokens},
	}
	var only []string
	if b.only != "" {
		only = strings.Split(b.only, ",")
	}
	for _, name := range only {
		if !slices.ContainsFunc(groups, func(g group) bool { return name == g.name || name == g.of }) {
			return fmt.Errorf("unknown group %q", name)
		}
	}
	for _, g := range groups {
		if only != nil && !slices.Contains(only, g.name) && !slices.Contains(only, g.of) {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", g.name, "…")
		if err := g.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", g.name, err)
		}
	}
	w := tabwriter.NewWriter(os.Stdout, 2, 0, 2, ' ', 0)
	fmt.Fprintln(w, "what\tmeasured\tcontrol\tratio\tgoal")
	for _, r := range b.rows {
		fmt.Fprintln(w, strings.Join([]string{r.what, r.measured, r.control, r.ratio, r.goal}, "\t"))
	}
	return w.Flush()
}

func (b *bench) add(what, measured, control, ratio, goal string) {
	b.rows = append(b.rows, row{what, measured, control, ratio, goal})
}

// rounds chooses a number by the size of the run.
func (b *bench) rounds(full, quick int) int {
	if b.quick {
		return quick
	}
	return full
}

// build compiles a program of the checkout into the bench's directory. It returns a copy that
// duplicate has made: how a file was written decides the page sizes in the page cache, and these
// sizes change the memory use of the program.
func (b *bench) build(ctx context.Context, pkg, name string, flags ...string) (string, error) {
	out := filepath.Join(b.dir, name)
	if _, err := os.Stat(out); err == nil {
		return out, nil
	}
	module := "."
	if below, ok := strings.CutPrefix(pkg, "./bench/"); ok {
		module, pkg = "bench", "./"+below
	}
	linked := out + ".linked"
	args := append([]string{"build", "-C", module, "-trimpath", "-ldflags", "-s -w", "-o", linked}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return "", err
	}
	return out, errors.Join(duplicate(linked, out), os.Remove(linked))
}

// duplicate copies a program in small pieces. The memory use of a program is then the same as after
// loading it from disk. The page cache holds a file that was written at once in pieces of
// megabytes, and the kernel maps each piece as a whole.
func duplicate(from, to string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	// The wrapper hides the file's own copy methods, so that it copies 32 KiB at a time.
	_, err = io.Copy(struct{ io.Writer }{w}, struct{ io.Reader }{r})
	return errors.Join(err, w.Close())
}
