//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// screens measures conversations in a terminal, and prints tables.
func screens(s *server, all []*program, what []string, rounds int, patience time.Duration) {
	all = slices.DeleteFunc(slices.Clone(all), func(p *program) bool { return len(p.screen) == 0 })
	if slices.Contains(what, "stream") {
		streams(s, all, rounds, patience)
	}
	if slices.Contains(what, "turns") {
		fmt.Printf("\n**Memory after 200 turns**, one run, all processes\n\n| program | memory |\n|---|---|\n")
		for _, p := range all {
			fmt.Printf("| %s | %s |\n", p.name, turnsText(s, p, 200))
		}
	}
	for _, p := range all {
		if p.name == "holdfast" && slices.Contains(what, "long") {
			long(s, p, rounds)
		}
	}
}

func turnsText(s *server, p *program, n int) string {
	pause := 200 * time.Millisecond
	if p.name == "holdfast" {
		pause = 20 * time.Millisecond
	}
	kib, err := screenTurns(s, p, n, pause)
	if err != nil {
		return "not measured: " + oneLine(err)
	}
	return fmt.Sprintf("%d MiB", kib/1024)
}

// oneLine returns the beginning of an error for a cell of a table.
func oneLine(err error) string {
	return fmt.Sprintf("%.300s", strings.ReplaceAll(strings.Join(strings.Fields(err.Error()), " "), "|", "\\|"))
}

// streams alternates the rounds of all programs and prints their medians.
func streams(s *server, all []*program, rounds int, patience time.Duration) {
	list, failed := map[*program][]screenFigures{}, map[*program]error{}
	for round := range rounds + 1 { // the first is to warm up
		for i := range all {
			p := all[(i+round)%len(all)]
			if failed[p] != nil {
				continue
			}
			keys := 50
			if round == 0 {
				keys = 5
			}
			calm(patience)
			f, err := screenRound(s, p, keys)
			switch {
			case err != nil:
				failed[p] = err
			case round > 0:
				list[p] = append(list[p], f)
			}
			fmt.Fprintf(os.Stderr, "round %d %s %v others %.0f %% %v\n", round, p.name, f.first, f.others*100, err)
		}
	}
	fmt.Printf("\n**A conversation in a terminal of %d × %d**, medians of %d rounds; in brackets, times Holdfast's\n\n", columns, rows, rounds)
	fmt.Println("| program | start → first characters | start → a typed character | key → shown at 200 tokens/s: median, p99, worst | bytes written per token, per byte | CPU at 100 tokens/s | memory after start | other programs meanwhile |\n|---|---|---|---|---|---|---|---|")
	var own []screenFigures
	for _, p := range all {
		if p.name == "holdfast" && failed[p] == nil {
			own = list[p]
		}
	}
	for _, p := range all {
		if failed[p] != nil {
			fmt.Printf("| %s | | | | | | | not measured: %s |\n", p.name, oneLine(failed[p]))
			continue
		}
		l := list[p]
		cell := func(format string, pick func(l []screenFigures) float64) string {
			text := fmt.Sprintf(format, pick(l))
			if len(own) > 0 && p.name != "holdfast" && pick(own) > 0 {
				text += fmt.Sprintf(" (%.3g ×)", pick(l)/pick(own))
			}
			return text
		}
		of := func(pick func(f screenFigures) float64) func(l []screenFigures) float64 {
			return func(l []screenFigures) float64 {
				var all []float64
				for _, f := range l {
					all = append(all, pick(f))
				}
				return quantile(all, .5)
			}
		}
		key := func(q float64) func(l []screenFigures) float64 {
			return func(l []screenFigures) float64 {
				var all []float64
				for _, f := range l {
					for _, d := range f.keys {
						all = append(all, ms(d))
					}
				}
				return quantile(all, q)
			}
		}
		fmt.Printf("| %s | %s | %s | %s, %s, %.1f ms | %s, %s | %s | %s | %.0f %% |\n", p.name,
			cell("%.0f ms", of(func(f screenFigures) float64 { return ms(f.first) })),
			cell("%.0f ms", of(func(f screenFigures) float64 { return ms(f.usable) })),
			cell("%.1f ms", key(.5)), cell("%.1f ms", key(.99)), key(1)(l),
			cell("%.1f", of(func(f screenFigures) float64 { return f.perToken })),
			cell("%.2f", of(func(f screenFigures) float64 { return f.amount })),
			cell("%.1f %%", of(func(f screenFigures) float64 { return f.cpu * 100 })),
			cell("%.0f MiB", of(func(f screenFigures) float64 { return float64(f.memory) / 1024 })),
			of(func(f screenFigures) float64 { return f.others * 100 })(l))
	}
}

// long measures Holdfast with a session of 10,000 items, and its memory after 1,500 turns.
func long(s *server, p *program, rounds int) {
	fmt.Printf("\n**Long sessions of Holdfast**\n\n| | |\n|---|---|\n")
	first, usable, size, err := longSession(s, p, rounds)
	text := fmt.Sprintf("%.0f, %.0f ms; memory %d MiB", first, usable, size/1024)
	if err != nil {
		text = "not measured: " + oneLine(err)
	}
	fmt.Printf("| a session of 10,000 items: start → first characters, a typed character (medians of %d) | %s |\n", rounds, text)
	fmt.Printf("| memory after 1,500 turns, all processes | %s |\n", turnsText(s, p, 1500))
}

// longSession imports a session of 10,000 items and opens it several times.
func longSession(s *server, p *program, rounds int) (first, usable float64, kib int, err error) {
	const id = "11111111-2222-4333-8444-555555555555"
	file := filepath.Join(p.home, ".claude", "projects", "-work", id+".jsonl")
	if err := writeClaudeSession(file, id, p.dir, 10_000); err != nil {
		return 0, 0, 0, err
	}
	cmd := exec.Command(p.screen[0], "sessions", "import", file)
	cmd.Env, cmd.Dir = p.environ(), p.dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return 0, 0, 0, fmt.Errorf("import: %w: %s", err, out)
	}
	var firsts, usables []float64
	for range rounds {
		t, err := startTalk(s, p, "--resume", id)
		if err != nil {
			return 0, 0, 0, err
		}
		f, err := t.ready()
		time.Sleep(2 * time.Second)
		kib = memory()
		t.end()
		if err != nil {
			return 0, 0, 0, err
		}
		firsts, usables = append(firsts, ms(f.first)), append(usables, ms(f.usable))
	}
	return quantile(firsts, .5), quantile(usables, .5), kib, nil
}

// writeClaudeSession writes a session of n items as Claude Code does.
func writeClaudeSession(file, id, dir string, n int) error {
	var b strings.Builder
	parent := "null"
	for i := range n {
		self := fmt.Sprintf(`"00000000-0000-4000-8000-%012d"`, i+1)
		role, content := "user", fmt.Sprintf(`"question %d"`, i)
		if i%2 == 1 {
			role, content = "assistant", `[{"type":"text","text":"`+strings.Repeat("some words of an answer ", 40)+`"}]`
		}
		model := ""
		if role == "assistant" {
			model = fmt.Sprintf(`,"id":"msg_%d","type":"message","model":"claude-sonnet-4-5","stop_reason":"end_turn","usage":{"input_tokens":10,"output_tokens":20}`, i)
		}
		fmt.Fprintf(&b, `{"parentUuid":%s,"isSidechain":false,"userType":"external","cwd":%q,"sessionId":%q,"version":"2.1.332","type":%q,"message":{"role":%q,"content":%s%s},"uuid":%s,"timestamp":"2026-11-01T00:00:00.000Z"}`+"\n",
			parent, dir, id, role, role, content, model, self)
		parent = self
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(b.String()), 0o600)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// quantile returns the value below which the share q of the values lies.
func quantile(all []float64, q float64) float64 {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(len(all)-1, int(q*float64(len(all))))]
}
