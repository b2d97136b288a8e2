//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// client is a program that is given a model server and one prompt.
type client struct {
	name string
	cmd  func(ctx context.Context, url, dir string) *exec.Cmd
}

// clients builds ours and the bare control: a Go program that posts, reads the
// stream, runs bash -c and syncs a file twice per turn.
func (b *bench) clients(ctx context.Context) (ours, bare client, err error) {
	holdfast, err := b.build(ctx, "./cmd/holdfast", "holdfast")
	if err != nil {
		return ours, bare, err
	}
	control, err := b.build(ctx, "./bench/bareclient", "bareclient")
	if err != nil {
		return ours, bare, err
	}
	ours = client{"holdfast", func(ctx context.Context, url, dir string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, holdfast, "run", "-m", "anthropic/bench", "--permission-mode", "bypassPermissions",
			"--store", "sqlite:"+filepath.Join(dir, "sessions.db"), "run true")
		cmd.Env = b.env(url)
		cmd.Dir = dir
		return cmd
	}}
	bare = client{"bareclient", func(ctx context.Context, url, dir string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, control, url, filepath.Join(dir, "bare.log"))
		cmd.Env = b.env(url)
		cmd.Dir = dir
		return cmd
	}}
	return ours, bare, nil
}

func (b *bench) env(url string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "HOLDFAST_HOME=" + filepath.Join(b.dir, "home"),
		"ANTHROPIC_API_KEY=sk-made-up", "ANTHROPIC_BASE_URL=" + url,
	}
}

// outcome is what one run of a client showed.
type outcome struct {
	first time.Duration // start → first request
	wall  time.Duration
	gaps  []time.Duration
	peak  int   // KiB, the process's own high-water mark at its last request
	size  int64 // of the last request
}

// play runs a client once, in a folder that it keeps from run to run.
func (b *bench) play(ctx context.Context, s *modelServer, c client, calls int) (o outcome, err error) {
	dir := filepath.Join(b.dir, "folder of "+c.name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return o, err
	}
	var cmd *exec.Cmd
	asks := 0
	run, url := s.start(calls, func() {
		// Reading the mark costs; do it once, at the last request.
		if asks++; asks == calls+1 {
			o.peak = peakOf(cmd.Process.Pid)
		}
	})
	cmd = c.cmd(ctx, url, dir)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	o.wall = time.Since(began)
	if err != nil {
		return o, fmt.Errorf("%s: %w\n%s", c.name, err, out)
	}
	if len(run.arrived) != calls+1 {
		return o, fmt.Errorf("%s made %d requests, want %d\n%s", c.name, len(run.arrived), calls+1, out)
	}
	o.first, o.gaps, o.size = run.arrived[0].Sub(began), run.gaps(), run.size
	return o, nil
}

func peakOf(pid int) int {
	return procStatus(strconv.Itoa(pid), "VmHWM")
}

func (b *bench) turns(ctx context.Context) error {
	s, err := newModelServer()
	if err != nil {
		return err
	}
	defer s.srv.Close()
	ours, bare, err := b.clients(ctx)
	if err != nil {
		return err
	}
	if err := b.shortRun(ctx, s, ours, bare); err != nil {
		return err
	}
	if err := b.heldRun(ctx, s, ours); err != nil {
		return err
	}
	return b.longRun(ctx, s, ours, bare)
}

func (b *bench) shortRun(ctx context.Context, s *modelServer, ours, bare client) error {
	const calls = 20
	var first, control, gaps, bareGaps []time.Duration
	peak, barePeak := 0, 0
	for i := range b.rounds(12, 4) {
		o, err := b.play(ctx, s, ours, calls)
		if err != nil {
			return err
		}
		c, err := b.play(ctx, s, bare, calls)
		if err != nil {
			return err
		}
		if i == 0 {
			continue // warm-up
		}
		first, control = append(first, o.first), append(control, c.first)
		gaps, bareGaps = append(gaps, o.gaps...), append(bareGaps, c.gaps...)
		peak, barePeak = max(peak, o.peak), max(barePeak, c.peak)
	}
	b.add("one prompt, 20 tool calls: per tool turn", micros(median(gaps)), "bare client "+micros(median(bareGaps)),
		ratio(median(gaps), median(bareGaps)), "≤ 1.5 ×")
	b.add("start → first request", micros(median(first)), "bare client "+micros(median(control)), ratio(median(first), median(control)), "≤ 15 ms")
	b.add("peak memory", fmt.Sprintf("%.1f MiB", float64(peak)/1024), fmt.Sprintf("bare client %.1f MiB", float64(barePeak)/1024), "", "≤ 40 MiB")
	return nil
}

// longRun compares many turns, ours and the control's in alternation, and looks
// whether a turn costs more the longer the session is.
func (b *bench) longRun(ctx context.Context, s *modelServer, ours, bare client) error {
	calls := b.rounds(1500, 200)
	var turn, bareTurn []time.Duration // medians of each run
	var grown, bareGrown []float64
	peak, barePeak := 0, 0
	for range 3 {
		o, err := b.play(ctx, s, ours, calls)
		if err != nil {
			return err
		}
		c, err := b.play(ctx, s, bare, calls)
		if err != nil {
			return err
		}
		turn, bareTurn = append(turn, median(o.gaps)), append(bareTurn, median(c.gaps))
		grown, bareGrown = append(grown, growth(o.gaps)), append(bareGrown, growth(c.gaps))
		peak, barePeak = max(peak, o.peak), max(barePeak, c.peak)
	}
	b.add(fmt.Sprintf("%d tool turns: per tool turn", calls), micros(median(turn)), "bare client "+micros(median(bareTurn)),
		ratio(median(turn), median(bareTurn)), "≤ 1.5 ×")
	b.add("the last tenth against the first", times(middle(grown)), "bare client "+times(middle(bareGrown)),
		times(middle(grown)/middle(bareGrown)), "flat")
	b.add(fmt.Sprintf("peak memory after %d turns", calls), fmt.Sprintf("%.1f MiB", float64(peak)/1024),
		fmt.Sprintf("bare client %.1f MiB", float64(barePeak)/1024), "", "")
	return nil
}

// growth is the median of the last tenth over that of the first.
func growth(gaps []time.Duration) float64 {
	part := len(gaps) / 10
	return float64(median(gaps[len(gaps)-part:])) / float64(median(gaps[:part]))
}

// resume measures how long a 10,000-item session takes to its first request.
func (b *bench) resume(ctx context.Context) error {
	s, err := newModelServer()
	if err != nil {
		return err
	}
	defer s.srv.Close()
	store, err := openSQLite(filepath.Join(b.dir))
	if err != nil {
		return err
	}
	sess := session.New(store, nil)
	if err := sess.Save(ctx, "long", longTranscript(sess, 10_000), nil); err != nil {
		return err
	}
	closeStore(store)
	holdfast, err := b.build(ctx, "./cmd/holdfast", "holdfast")
	if err != nil {
		return err
	}
	ours := client{"holdfast", func(ctx context.Context, url, dir string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, holdfast, "run", "-m", "anthropic/bench", "--permission-mode", "bypassPermissions",
			"--store", "sqlite:"+filepath.Join(b.dir, "sessions.db"), "--resume", "long", "go on")
		cmd.Env, cmd.Dir = b.env(url), dir
		return cmd
	}}
	control, err := b.build(ctx, "./bench/bareresume", "bareresume")
	if err != nil {
		return err
	}
	o, err := b.play(ctx, s, ours, 0) // to warm up, and for the size
	if err != nil {
		return err
	}
	bare := func(name string, more ...string) client {
		return client{name, func(ctx context.Context, url, dir string) *exec.Cmd {
			cmd := exec.CommandContext(ctx, control, append([]string{url, strconv.FormatInt(o.size, 10)}, more...)...)
			cmd.Env, cmd.Dir = b.env(url), dir
			return cmd
		}}
	}
	all := []client{ours, bare("checker", filepath.Join(b.dir, "sessions.db")), bare("poster")}
	first := make([][]time.Duration, len(all))
	for range b.rounds(9, 3) {
		for i, c := range all {
			o, err := b.play(ctx, s, c, 0)
			if err != nil {
				return err
			}
			first[i] = append(first[i], o.first)
		}
	}
	b.add("resume of 10,000 items → first request", micros(median(first[0])),
		fmt.Sprintf("its rows read, checked and as many bytes posted %s; the bytes alone %s", micros(median(first[1])), micros(median(first[2]))),
		ratio(median(first[0]), median(first[1])), "≤ 25 ms")
	return nil
}

// longTranscript is n items of a session with tools as the agent records it:
// calls with the provider's own blocks beside them, and results. Each item has
// about itemBytes.
func longTranscript(s *session.Sessions, n int) []transcript.Item {
	text := item("").Text()
	said := text[:len(text)/2-200] // it stands in the item twice
	var items []transcript.Item
	for i := 0; len(items) < n; i++ {
		use := fmt.Sprintf("toolu_%06d", i)
		blocks := fmt.Sprintf(`[{"type":"text","text":%q},{"type":"tool_use","id":%q,"name":"Bash","input":{"command":"true"}}]`, said, use)
		items = append(items,
			transcript.Item{
				Role: transcript.RoleAssistant, Model: "bench", Finish: transcript.FinishToolUse,
				Usage:  &transcript.Usage{Input: 10, Output: 20},
				Parts:  []transcript.Part{transcript.Text{Text: said}, transcript.ToolUse{ID: use, Name: "Bash", Input: []byte(`{"command":"true"}`)}},
				Native: &transcript.Native{API: "anthropic-messages", JSON: []byte(blocks)},
			},
			transcript.ToolResult{UseID: use, Content: []transcript.Part{transcript.Text{Text: text}}}.Item(),
		)
	}
	items[0] = transcript.UserText(text)
	items[1] = transcript.Item{Role: transcript.RoleAssistant, Parts: []transcript.Part{transcript.Text{Text: text}}}
	for i := range items {
		items[i].ID, items[i].Time = s.NewID(), time.Unix(1_700_000_000, 0)
	}
	return items
}
