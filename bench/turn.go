//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// client is a program that is started with the address of a model server and one prompt.
type client struct {
	name string
	cmd  func(ctx context.Context, url, dir string) *exec.Cmd
}

// holdfastClient is holdfast, which commits each record to disk and sandboxes commands unless a
// flag turns that off.
func (b *bench) holdfastClient(program, name string, flags ...string) client {
	return client{name, func(ctx context.Context, url, dir string) *exec.Cmd {
		args := append([]string{"run", "-m", "anthropic/bench", "--permission-mode", "bypassPermissions"}, flags...)
		if !slices.Contains(flags, "--store") {
			args = append(args, "--store", "sqlite:"+filepath.Join(dir, "sessions.db"))
		}
		cmd := exec.CommandContext(ctx, program, append(args, "run true")...)
		cmd.Env, cmd.Dir = b.env(url), dir
		return cmd
	}}
}

// bare is the control: a Go program that posts the request, reads the stream, runs bash -c and
// syncs a file twice per turn.
func (b *bench) bare(program string, args ...string) client {
	return client{"bare client", func(ctx context.Context, url, dir string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, program, append([]string{url, filepath.Join(dir, "bare.log")}, args...)...)
		cmd.Env, cmd.Dir = b.env(url), dir
		return cmd
	}}
}

func (b *bench) env(url string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + b.dir, "HOLDFAST_HOME=" + filepath.Join(b.dir, "home"),
		"ANTHROPIC_API_KEY=sk-made-up", "ANTHROPIC_BASE_URL=" + url,
	}
}

// outcome is the result of one run of a client.
type outcome struct {
	first time.Duration // start → first request
	exit  time.Duration // time from the last answer until the process has ended
	gaps  []time.Duration
	size  int64 // of the last request
	peak  int   // peak memory of the process in KiB, read at its last request
}

// runClient runs a client once, in a folder that is kept between runs.
func (b *bench) runClient(ctx context.Context, s *modelServer, c client, calls int) (o outcome, err error) {
	dir := filepath.Join(b.dir, "folder of "+c.name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return o, err
	}
	var cmd *exec.Cmd
	asks := 0
	run, url := s.start(calls, func() {
		// Reading the peak memory takes time, so it is read only once, at the last request.
		if asks++; asks == calls+1 {
			o.peak = peakOf(cmd.Process.Pid)
		}
	})
	cmd = c.cmd(ctx, url, dir)
	began := time.Now()
	out, err := cmd.CombinedOutput()
	ended := time.Now()
	if err != nil {
		return o, fmt.Errorf("%s: %w\n%s", c.name, err, out)
	}
	if len(run.arrived) != calls+1 {
		return o, fmt.Errorf("%s made %d requests, want %d\n%s", c.name, len(run.arrived), calls+1, out)
	}
	o.first, o.exit, o.gaps = run.arrived[0].Sub(began), ended.Sub(run.answered[calls]), run.gaps()
	o.size = run.size
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
	holdfast, err := b.build(ctx, "./cmd/holdfast", "holdfast")
	if err != nil {
		return err
	}
	control, err := b.build(ctx, "./bench/bareclient", "bareclient")
	if err != nil {
		return err
	}
	subject, bare, open := b.holdfastClient(holdfast, "holdfast"), b.bare(control), b.holdfastClient(holdfast, "holdfast without sandbox", "--no-sandbox")
	if err := b.shortRun(ctx, s, subject, bare, open); err != nil {
		return err
	}
	if err := b.sandboxedRun(ctx, s, subject); err != nil {
		return err
	}
	return b.longRun(ctx, s, subject, bare)
}

// clientResults has the results of all runs of one client: the figures of each run, and the median of its
// turns.
type clientResults struct {
	first, exit, turn []time.Duration
	grown             []float64 // the last tenth of the turns, compared with the first tenth
	peak              []float64 // MiB
}

// runClients runs the clients alternately, and begins each round with a different client. The first
// round is not counted.
func (b *bench) runClients(ctx context.Context, s *modelServer, rounds, calls int, clients ...client) ([]clientResults, error) {
	all := make([]clientResults, len(clients))
	for round := range rounds + 1 {
		for i := range clients {
			i := (i + round) % len(clients)
			o, err := b.runClient(ctx, s, clients[i], calls)
			if err != nil {
				return nil, err
			}
			if round == 0 {
				continue
			}
			t := &all[i]
			t.first, t.exit, t.peak = append(t.first, o.first), append(t.exit, o.exit), append(t.peak, float64(o.peak)/1024)
			if calls > 0 {
				t.turn = append(t.turn, median(o.gaps))
			}
			if calls >= 100 {
				t.grown = append(t.grown, growth(o.gaps))
			}
		}
	}
	return all, nil
}

func (b *bench) shortRun(ctx context.Context, s *modelServer, subject, bare, open client) error {
	const calls = 20
	all, err := b.runClients(ctx, s, b.rounds(15, 4), calls, subject, bare, open)
	if err != nil {
		return err
	}
	o, c, n := all[0], all[1], all[2]
	b.compare("one prompt, 20 tool calls: per tool turn, durable and sandboxed", o.turn, bare.name, c.turn, 2)
	b.compare("the same, compared with durable without sandbox", o.turn, open.name, n.turn, 1.3)
	b.compare("start → first request", o.first, bare.name, c.first, 2)
	b.add("last answer → exit", micros(median(o.exit)), bare.name+" "+micros(median(c.exit)), ratio(median(o.exit), median(c.exit)),
		goalAtMost(3, "ms", millis(median(o.exit))))
	b.add("peak memory of 20 tool calls", fmt.Sprintf("%.1f MiB", middle(o.peak)), fmt.Sprintf("%s %.1f MiB", bare.name, middle(c.peak)),
		ratioText(middle(o.peak)/middle(c.peak)), goalAtMost(30, "MiB", middle(o.peak)))
	return nil
}

// compare adds a row for two clients that ran alternately: the ratio is the median of the ratios of
// all rounds.
func (b *bench) compare(what string, subject []time.Duration, name string, control []time.Duration, limit float64) {
	ratios := make([]float64, len(subject))
	for i := range subject {
		ratios[i] = share(subject[i], control[i])
	}
	b.add(what, micros(median(subject)), name+" "+micros(median(control)), quartiles(ratios, "×"), goalAtMost(limit, "×", middle(ratios)))
}

// longRun runs many turns of holdfast and of the control, alternately. It compares the two, and
// checks whether a turn costs more when the session is longer.
func (b *bench) longRun(ctx context.Context, s *modelServer, subject, bare client) error {
	calls := b.rounds(1500, 200)
	all, err := b.runClients(ctx, s, b.rounds(3, 1), calls, subject, bare)
	if err != nil {
		return err
	}
	o, c := all[0], all[1]
	b.compare(fmt.Sprintf("%d tool turns: per tool turn", calls), o.turn, bare.name, c.turn, 2)
	b.add("the last tenth compared with the first", ratioText(middle(o.grown)), bare.name+" "+ratioText(middle(c.grown)),
		ratioText(middle(o.grown)/middle(c.grown)), "flat")
	b.add(fmt.Sprintf("peak memory after %d turns", calls), fmt.Sprintf("%.1f MiB", middle(o.peak)),
		fmt.Sprintf("%s %.1f MiB", bare.name, middle(c.peak)), ratioText(middle(o.peak)/middle(c.peak)), goalAtMost(45, "MiB", middle(o.peak)))
	return nil
}

// growth returns the median of the last tenth of the turns divided by the median of the first
// tenth.
func growth(gaps []time.Duration) float64 {
	part := len(gaps) / 10
	return float64(median(gaps[len(gaps)-part:])) / float64(median(gaps[:part]))
}

// resume measures the time from the start of the program to its first request, with a session of
// 10,000 items.
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
	subject := client{"holdfast", func(ctx context.Context, url, dir string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, holdfast, "run", "-m", "anthropic/bench", "--permission-mode", "bypassPermissions",
			"--store", "sqlite:"+filepath.Join(b.dir, "sessions.db"), "--resume", "long", "go on")
		cmd.Env, cmd.Dir = b.env(url), dir
		return cmd
	}}
	control, err := b.build(ctx, "./bench/bareresume", "bareresume")
	if err != nil {
		return err
	}
	o, err := b.runClient(ctx, s, subject, 0) // this run warms up the caches and measures the size of the request
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
	all := []client{subject, bare("checker", filepath.Join(b.dir, "sessions.db")), bare("poster")}
	first := make([][]time.Duration, len(all))
	for range b.rounds(9, 3) {
		for i, c := range all {
			o, err := b.runClient(ctx, s, c, 0)
			if err != nil {
				return err
			}
			first[i] = append(first[i], o.first)
		}
	}
	b.add("resume of 10,000 items → first request", micros(median(first[0])),
		fmt.Sprintf("reading and checking its rows and posting as many bytes: %s; only posting: %s", micros(median(first[1])), micros(median(first[2]))),
		ratio(median(first[0]), median(first[1])), goalAtMost(25, "ms", millis(median(first[0]))))
	return nil
}

// longTranscript returns n items of a session with tools, as the agent records them: calls with the
// provider's own blocks, and results. Each item has about itemBytes bytes.
func longTranscript(s *session.Sessions, n int) []transcript.Item {
	text := item("").Text()
	answer := text[:len(text)/2-200] // half the size, because the item contains the text twice
	var items []transcript.Item
	for i := 0; len(items) < n; i++ {
		use := fmt.Sprintf("toolu_%06d", i)
		blocks := fmt.Sprintf(`[{"type":"text","text":%q},{"type":"tool_use","id":%q,"name":"Bash","input":{"command":"true"}}]`, answer, use)
		items = append(items,
			transcript.Item{
				Role: transcript.RoleAssistant, Model: "bench", Finish: transcript.FinishToolUse,
				Usage:  &transcript.Usage{Input: 10, Output: 20},
				Parts:  []transcript.Part{transcript.Text{Text: answer}, transcript.ToolUse{ID: use, Name: "Bash", Input: []byte(`{"command":"true"}`)}},
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
