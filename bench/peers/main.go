//go:build linux

// Command peers compares holdfast with other agents, each against the same model server on this
// machine, and prints Markdown. It installs them with npm, once.
//
//	go run -C bench ./peers                  0, 20 and 200 tool calls, resume, and the turns of a conversation
//	go run -C bench ./peers -rounds 3        fewer rounds
//	go run -C bench ./peers -only claude     and holdfast and the control
//	go run -C bench ./peers -terminal        conversations in a terminal
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	rounds := flag.Int("rounds", 5, "number of rounds, after one to warm up; for 200 calls, a third of it")
	words := flag.Int("turns", 20, "turns of the conversation that is resumed or sent as a history; 0 for none")
	only := flag.String("only", "", "programs to measure, separated by commas; the control and holdfast are always measured")
	calls := flag.String("calls", "0,20,200,resume", "numbers of tool calls, separated by commas; and resume")
	terminal := flag.Bool("terminal", false, "measure conversations in a terminal instead")
	parts := flag.String("parts", "stream,turns,long", "with -terminal: what to measure")
	patience := flag.Duration("patience", 30*time.Second, "with -terminal: how long to wait before each round until the machine is idle")
	binary := flag.String("holdfast", "", "a holdfast program to measure instead of building one")
	flag.Parse()
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("the package names are known only for amd64")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return err
	}
	peers := filepath.Join(cache, "holdfast-peers")
	if err := install(peers); err != nil {
		return err
	}
	homes, err := os.MkdirTemp(peers, "homes-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(homes)
	s, err := newServer()
	if err != nil {
		return err
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/holdfast-dev/holdfast").Output()
	if err != nil {
		return fmt.Errorf("find the checkout: %w\nhint: go run -C bench ./peers", err)
	}
	checkout := strings.TrimSpace(string(root))
	holdfast := *binary
	if holdfast == "" {
		if holdfast, err = build(checkout, "./cmd/holdfast", filepath.Join(homes, "bin", "holdfast")); err != nil {
			return err
		}
	}
	bare, err := build(filepath.Join(checkout, "bench"), "./bareclient", filepath.Join(homes, "bin", "bareclient"))
	if err != nil {
		return err
	}
	all := programs(s.url, peers, holdfast, bare, homes)
	if *only != "" {
		all = slices.DeleteFunc(all, func(p *program) bool {
			return p.name != "holdfast" && p.name != "bare client" && !slices.Contains(strings.Split(*only, ","), p.name)
		})
	}
	load, _ := os.ReadFile("/proc/loadavg")
	fmt.Printf("%s, %d processors, load before: %s\n\n", time.Now().UTC().Format(time.DateOnly), runtime.NumCPU(), strings.Join(strings.Fields(string(load))[:3], " "))
	fmt.Println("| program | version | sandbox | committed to disk each turn | command |\n|---|---|---|---|---|")
	var ready []*program
	for _, p := range all {
		err := p.prepare(s.url)
		if err == nil {
			_, err = play(ctx, s, p, false, 1, "run true", "done", false)
		}
		if err != nil {
			fmt.Printf("| %s | %s | | | not measured: %s |\n", p.name, p.version, strings.Join(strings.Fields(err.Error()), " "))
			continue
		}
		args := p.once
		if *terminal && len(p.screen) > 0 {
			args = p.screen
		}
		command := strings.NewReplacer(peers+"/node_modules/", "", homes+"/bin/", "", s.url, "URL").Replace(strings.Join(args, " "))
		fmt.Printf("| %s | %s | %s | %s | `%s` |\n", p.name, p.version, p.sandbox, p.durable, strings.ReplaceAll(command, "|", "\\|"))
		ready = append(ready, p)
	}
	if *terminal {
		screens(s, ready, strings.Split(*parts, ","), *rounds, *patience)
		*calls, *words = "", 0
	}
	for what := range strings.FieldsFuncSeq(*calls, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(what)
		if err != nil && what != "resume" {
			return fmt.Errorf("unknown number of calls %q", what)
		}
		table(ctx, s, ready, n, what == "resume", *rounds)
	}
	conversation(ctx, s, ready, *words)
	load, _ = os.ReadFile("/proc/loadavg")
	fmt.Printf("\nLoad after: %s\n", strings.Join(strings.Fields(string(load))[:3], " "))
	return nil
}

func build(dir, pkg, to string) (string, error) {
	cmd := exec.Command("go", "build", "-C", dir, "-trimpath", "-ldflags", "-s -w", "-o", to, pkg)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return to, cmd.Run()
}

// table measures all programs alternately, and prints their medians.
func table(ctx context.Context, s *server, all []*program, calls int, again bool, rounds int) {
	what := fmt.Sprintf("%d tool calls", calls)
	if again {
		what = "Resuming the last session after its 20 calls"
		rounds = max(rounds, 1)
	}
	if calls == 200 {
		rounds = max(rounds/3, 1)
	}
	list, failed := map[*program][]figures{}, map[*program]error{}
	peak := map[*program]int{}
	for round := range rounds + 1 {
		for i := range all {
			p := all[(i+round)%len(all)]
			if failed[p] != nil || again && p.noResume != "" {
				continue
			}
			if again {
				if _, err := play(ctx, s, p, false, 20, "run true", "done", false); err != nil {
					failed[p] = err
					continue
				}
			}
			f, err := play(ctx, s, p, again, calls, "run true", "done", round == 0)
			switch {
			case err != nil:
				failed[p] = err
			case round == 0:
				peak[p] = f.peak
			default:
				list[p] = append(list[p], f)
			}
		}
	}
	fmt.Printf("\n**%s**, medians of %d rounds\n\n", what, rounds)
	fmt.Println("| program | wall | start → first request | last answer → exit | CPU | peak memory, all processes | requests | sent |\n|---|---|---|---|---|---|---|---|")
	for _, p := range all {
		switch l := list[p]; {
		case again && p.noResume != "":
			fmt.Printf("| %s | | | | | | | %s |\n", p.name, p.noResume)
		case failed[p] != nil:
			fmt.Printf("| %s | | | | | | | not measured: %.300s |\n", p.name, strings.Join(strings.Fields(failed[p].Error()), " "))
		default:
			of := func(pick func(figures) time.Duration) time.Duration {
				var d []time.Duration
				for _, f := range l {
					d = append(d, pick(f))
				}
				return middle(d)
			}
			fmt.Printf("| %s | %s | %s | %s | %s | %d MiB | %d | %.1f KB |\n", p.name,
				millis(of(func(f figures) time.Duration { return f.wall })), millis(of(func(f figures) time.Duration { return f.first })),
				millis(of(func(f figures) time.Duration { return f.exit })), millis(of(func(f figures) time.Duration { return f.cpu })),
				peak[p]/1024, l[len(l)-1].requests, float64(l[len(l)-1].bytes)/1000)
		}
	}
}

// conversation compares a resumed session with a session that gets the history as text.
func conversation(ctx context.Context, s *server, all []*program, n int) {
	if n < 2 {
		return
	}
	fmt.Printf("\n**A conversation of %d turns**, 300 tokens each way, each turn by a process of its own; a token is four bytes\n\n", n)
	fmt.Println("| program | way | sent in all | input tokens, all turns | of these, not in a known prefix | last turn: input, not known | second turn: start → first request, wall |\n|---|---|---|---|---|---|---|")
	for _, p := range all {
		if p.noResume != "" {
			continue
		}
		other := *p
		other.home += "-history"
		other.dir = filepath.Join(other.home, "work")
		talks := []*conversationRun{{p: p, resume: true}, {p: &other}}
		err := other.prepare(s.url)
		if err == nil {
			err = runTurns(ctx, s, talks, n)
		}
		if err != nil {
			fmt.Printf("| %s | | not measured: %.300s | | | | |\n", p.name, strings.Join(strings.Fields(err.Error()), " "))
			continue
		}
		for i, t := range talks {
			way, list := []string{"resume", "history in the prompt"}[i], t.usage
			var sum usage
			for _, u := range list {
				sum.bytes, sum.tokens, sum.fresh = sum.bytes+u.bytes, sum.tokens+u.tokens, sum.fresh+u.fresh
			}
			last := list[n-1]
			fmt.Printf("| %s | %s | %.0f KB | %d | %d | %d, %d | %s, %s |\n", p.name, way, float64(sum.bytes)/1000, sum.tokens, sum.fresh,
				last.tokens, last.fresh, millis(list[1].first), millis(list[1].wall))
		}
	}
}

func middle(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func millis(d time.Duration) string {
	if d < 10*time.Millisecond {
		return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000)
	}
	return fmt.Sprintf("%d ms", d.Milliseconds())
}
