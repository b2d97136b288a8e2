//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/holdfast-dev/holdfast/bench/spawn"
)

// sandboxes measures the start of /bin/true in Holdfast's sandbox and in others, against a plain
// start. Starts are measured in blocks that alternate, and each block begins only when the machine
// is quiet. Each ratio compares a block with the plain block of the same round.
func (b *bench) sandboxes(ctx context.Context) error {
	s := &sandboxBench{bench: b, processes: map[string]*spawn.Client{}}
	defer s.stop()
	if err := s.prepare(ctx); err != nil {
		return err
	}
	if err := s.rounds(); err != nil {
		return err
	}
	s.addRows()
	if err := s.throughput(); err != nil {
		return err
	}
	for _, part := range []func(context.Context) error{b.systemCalls, b.downloads} {
		if err := part(ctx); err != nil {
			return err
		}
	}
	if text := s.quiet.String(); text != "" {
		fmt.Fprintln(os.Stderr, "bench:", text)
	}
	return nil
}

// sandboxBench is one run of the sandbox benchmark.
type sandboxBench struct {
	*bench
	quiet     quiet
	runners   []*runner
	processes map[string]*spawn.Client // the serving processes that start programs, by build
	ended     []func() error
}

// runner is one way to run /bin/true.
type runner struct {
	name  string
	goal  string
	build string // which process starts it
	ask   spawn.Ask

	medians []time.Duration // by round
	size    int             // number of starts in a block
	absent  string          // why this runner is not measured
}

// The serving process has three variants: a normal one, one for which the kernel refuses
// namespaces, and one that starts commands through the program itself.
const (
	usual   = ""
	refused = "refused"
	again   = "again"
)

func (s *sandboxBench) prepare(ctx context.Context) error {
	spawner, err := s.build(ctx, "./bench/spawner", "spawner")
	if err != nil {
		return err
	}
	reexec, err := s.buildAgain(ctx)
	if err != nil {
		return err
	}
	for _, p := range []struct {
		name string
		cmd  *exec.Cmd
		sys  *syscall.SysProcAttr
	}{
		{usual, exec.CommandContext(ctx, spawner), nil},
		{refused, exec.CommandContext(ctx, spawner, spawn.RefuseFlag), spawn.Refused()},
		{again, exec.CommandContext(ctx, reexec), nil},
	} {
		p.cmd.SysProcAttr = p.sys
		if err := s.launch(p.name, p.cmd); err != nil {
			return fmt.Errorf("start a process that starts (%q): %w", p.name, err)
		}
	}
	if err := s.addRunners(ctx); err != nil {
		return err
	}
	for _, r := range s.runners {
		s.try(r)
	}
	if plain := s.runners[0]; plain.absent != "" {
		return fmt.Errorf("%s: %s", plain.name, plain.absent)
	}
	return nil
}

// buildAgain builds the spawner the way a build for the race detector works, but without the race
// detector, by changing the one constant that depends on it.
func (s *sandboxBench) buildAgain(ctx context.Context) (string, error) {
	const source = "internal/sandbox/kernel/norace.go"
	path, err := filepath.Abs(source)
	if err != nil {
		return "", err
	}
	changed := filepath.Join(s.dir, "norace.go")
	if err := os.WriteFile(changed, []byte("package kernel\n\nconst mustReexec = true\n"), 0o600); err != nil {
		return "", err
	}
	overlay := filepath.Join(s.dir, "overlay.json")
	text := fmt.Sprintf(`{"Replace":{%q:%q}}`, path, changed)
	if err := os.WriteFile(overlay, []byte(text), 0o600); err != nil {
		return "", err
	}
	return s.build(ctx, "./bench/spawner", "spawner-again", "-overlay", overlay)
}

// launch starts a process that starts programs.
func (s *sandboxBench) launch(name string, cmd *exec.Cmd) error {
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	s.processes[name] = spawn.NewClient(in, out)
	s.ended = append(s.ended, func() error {
		_ = in.Close() // ends the process
		return cmd.Wait()
	})
	return nil
}

func (s *sandboxBench) stop() {
	for _, end := range s.ended {
		if err := end(); err != nil {
			fmt.Fprintln(os.Stderr, "bench: a process that starts:", err)
		}
	}
}

// try runs a runner a few times, which also warms it up, and sets the size of its blocks.
func (s *sandboxBench) try(r *runner) {
	if r.absent != "" {
		return
	}
	took, err := s.block(r, 5, 1)
	if err != nil {
		r.absent = err.Error()
		return
	}
	const long = 60 * time.Millisecond
	r.size = min(max(int(long/median(took.Took)), 3), 50)
}

func (s *sandboxBench) block(r *runner, times, workers int) (*spawn.Answer, error) {
	if err := s.quiet.wait(); err != nil {
		return nil, err
	}
	ask := r.ask
	ask.Times, ask.Workers = times, workers
	return s.processes[r.build].Block(&ask)
}

// rounds measures each runner once per round. Each round begins with a different runner, so that no
// runner always runs after the same other runner.
func (s *sandboxBench) rounds() error {
	for round := range s.bench.rounds(12, 4) {
		for i := range s.runners {
			r := s.runners[(i+round)%len(s.runners)]
			if r.absent != "" {
				continue
			}
			answer, err := s.block(r, r.size, 1)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			r.medians = append(r.medians, median(answer.Took))
		}
	}
	return nil
}

// addRows adds the rows. Each row is compared with the plain start. Holdfast's rows are also
// compared with bubblewrap, or with the control that makes the same system calls.
func (s *sandboxBench) addRows() {
	for _, r := range s.runners {
		s.addRatio(r, s.runners[0], r.goal)
	}
	for _, c := range []struct{ holdfast, control, goal string }{
		{nameExec, nameEqual, "≤ 1.0 ×"},
		{nameAlone, nameEqual, ""},
		{nameWeaker, nameBareWeaker, ""},
		{nameNoSockets, nameBareNamespaces, ""},
		{nameListener, nameBareListener, ""},
	} {
		if holdfast, control := s.find(c.holdfast), s.find(c.control); holdfast.absent == "" && control.absent == "" {
			s.addRatio(holdfast, control, c.goal)
		}
	}
}

func (s *sandboxBench) addRatio(r, control *runner, bound string) {
	what := "/bin/true: " + r.name
	if r.absent != "" {
		s.add(what, "-", "", "", "not measured: "+r.absent)
		return
	}
	ratios := make([]float64, len(r.medians))
	for i := range ratios {
		ratios[i] = float64(r.medians[i]) / float64(control.medians[i])
	}
	var limit float64
	if _, err := fmt.Sscanf(bound, "≤ %g", &limit); err == nil {
		bound = goal(bound, middle(ratios) <= limit)
	}
	s.add(what, micros(median(r.medians)), control.name+" "+micros(median(control.medians)), quartiles(ratios, "×"), bound)
}

func (s *sandboxBench) find(name string) *runner {
	i := slices.IndexFunc(s.runners, func(r *runner) bool { return r.name == name })
	return s.runners[i]
}

// throughput measures two workers that start programs at the same time.
func (s *sandboxBench) throughput() error {
	names := []string{namePlain, nameKernel, nameOpen, nameExec, nameEqual}
	rates := map[string][]float64{}
	for range s.bench.rounds(5, 2) {
		for _, name := range names {
			r := s.find(name)
			if r.absent != "" {
				continue
			}
			const long = 700 * time.Millisecond
			times := max(int(long/median(r.medians)), 10)
			answer, err := s.block(r, times, 2)
			if err != nil {
				return fmt.Errorf("two workers: %s: %w", name, err)
			}
			rates[name] = append(rates[name], float64(times)/answer.Wall.Seconds())
		}
	}
	goals := map[string]string{nameKernel: "≥ 2 ×", nameOpen: "≥ 2 ×"}
	theirs := rates[nameEqual]
	for _, name := range names {
		r := rates[name]
		if len(r) == 0 {
			continue
		}
		control, compared := "", ""
		if len(theirs) > 0 {
			control, compared = fmt.Sprintf("%s %.0f/s", nameEqual, middle(theirs)), ratioText(middle(r)/middle(theirs))
		}
		s.add("two workers: "+name, fmt.Sprintf("%.0f/s", middle(r)), control, compared, goals[name])
	}
	return nil
}
