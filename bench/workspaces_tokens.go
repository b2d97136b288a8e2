//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/record"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/internal/workspace/image"
	"github.com/holdfast-dev/holdfast/session"
)

// The two ways to continue a vendor agent, and the number of tokens that each turn sends and
// receives.
const (
	byResume  = "resume"
	byHistory = "history"

	sentTokens     = 300
	receivedTokens = 300
)

// tokenTurns runs turns of an agent. If way is byHistory, the agent's own session is removed before
// each turn, so that the agent gets the history as text. The function at is called after each turn,
// when the agent's process has ended, because the process writes to its session until then.
func (s *workspaceBench) tokenTurns(ctx context.Context, slug, way, word string, at func(), environ ...string) error {
	a, err := s.vendorAgent(ctx, slug, "words by "+way+" in "+slug, environ...)
	if err != nil {
		return err
	}
	for i := range s.turnCount() {
		if way == byHistory {
			err = errors.Join(err, forget(s.home(slug)))
		}
		if err == nil {
			_, err = turn(ctx, a, word+padded(sentTokens, i), isWords)
		}
		if err == nil {
			err = s.waitIdle(ctx, slug)
		}
		if err != nil {
			break
		}
		at()
	}
	if err := errors.Join(err, a.Close()); err != nil {
		return err
	}
	return s.checkWay(ctx, "words by "+way+" in "+slug, way)
}

// waitIdle waits until no agent process runs in a workspace's container.
func (s *workspaceBench) waitIdle(ctx context.Context, slug string) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := s.spaces.Ensure(ctx, slug)
		if err != nil {
			return err
		}
		if err := c.Close(); err != nil || c.Health.Processes == 0 {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// checkWay checks whether an agent continued in the expected way. If way is byHistory, every turn
// has a different session of the vendor.
func (s *workspaceBench) checkWay(ctx context.Context, id, way string) error {
	sessions, want := 0, 1
	if way == byHistory {
		want = s.turnCount()
	}
	for r, err := range s.sessions.Records(ctx, id, session.Range{}) {
		if err != nil {
			return err
		}
		if r.Kind == record.KindVendorMapped {
			sessions++
		}
	}
	if sessions != want {
		return fmt.Errorf("by %s the agent had %d sessions, not %d", way, sessions, want)
	}
	return nil
}

func (s *workspaceBench) turnCount() int { return s.rounds(20, 10) }

// forget removes the sessions of Claude Code in a home.
func forget(home string) error {
	files, err := filepath.Glob(filepath.Join(home, ".claude/projects/-work/*.jsonl"))
	for _, f := range files {
		err = errors.Join(err, os.Remove(f))
	}
	return err
}

// standInTokens counts what the host sends to an agent in its turns.
func (s *workspaceBench) standInTokens(ctx context.Context) error {
	counts := map[string][]int{}
	for _, way := range []string{byResume, byHistory} {
		slug := "sent-by-" + way
		if _, err := s.standIn(ctx, slug); err != nil {
			return err
		}
		if err := s.tokenTurns(ctx, slug, way, "say ", func() {}); err != nil {
			return err
		}
		var err error
		if counts[way], err = s.received(slug, way); err != nil {
			return err
		}
	}
	s.addTokenRows("text sent to the agent", counts[byResume], counts[byHistory], true)
	return nil
}

// received returns the number of tokens that the stand-in received in each turn.
func (s *workspaceBench) received(slug, way string) (list []int, err error) {
	b, err := os.ReadFile(filepath.Join(s.home(slug), "calls.jsonl"))
	if err != nil {
		return nil, err
	}
	resumed := 0
	for line := range strings.Lines(string(b)) {
		var c struct {
			Args []string
			Text string
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			return nil, err
		}
		if strings.Contains(strings.Join(c.Args, " "), "--resume") {
			resumed++
		}
		list = append(list, tokens(len(c.Text)))
	}
	want := 0
	if way == byResume {
		want = s.turnCount() - 1
	}
	if len(list) != s.turnCount() || resumed != want {
		return nil, fmt.Errorf("by %s the agent was started %d times, %d of them to resume", way, len(list), resumed)
	}
	return list, nil
}

// addTokenRows adds two rows with token counts: one for the last turn, and one for the sum of all
// turns. The second row also has the average difference between consecutive turns: if it is not 0,
// the sum grows quadratically.
func (s *workspaceBench) addTokenRows(what string, resume, history []int, withGoal bool) {
	n := len(resume)
	share := float64(history[n-1]) / float64(resume[n-1])
	bound, linear := "", ""
	if withGoal {
		bound = goal("≤ 1/5", share >= 5)
		linear = goal("linear: +0", growthOf(resume) <= (sentTokens+receivedTokens)/20)
	}
	s.add(fmt.Sprintf("turn %d, %s", n, what), fmt.Sprintf("resume %d tokens", resume[n-1]), fmt.Sprintf("history %d tokens", history[n-1]),
		fmt.Sprintf("1/%.1f", share), bound)
	all := func(list []int) string { return fmt.Sprintf("%d, each turn %+d", sum(list), growthOf(list)) }
	s.add(fmt.Sprintf("%d turns, %s", n, what), "resume "+all(resume), "history "+all(history),
		fmt.Sprintf("1/%.1f", float64(sum(history))/float64(sum(resume))), linear)
}

// growthOf returns how many more tokens a turn takes than the turn before it. This is an average
// over the second half of the turns, because the first turns find less in a cache.
func growthOf(list []int) int {
	last := len(list) - 1
	return (list[last] - list[last/2]) / (last - last/2)
}

func sum(list []int) (all int) {
	for _, t := range list {
		all += t
	}
	return all
}

// realTokens measures the same with Claude Code itself, and counts the tokens at a model server.
// Both ways run in parallel, each in a container of its own.
func (s *workspaceBench) realTokens(ctx context.Context) error {
	const what = "Claude Code itself, counted by a model server"
	packages, debian := os.Getenv("HOLDFAST_TEST_VENDORS"), os.Getenv("HOLDFAST_TEST_DEBIAN")
	server, err := newCountingServer(padded(receivedTokens, 1_000))
	if err != nil {
		return err
	}
	defer server.srv.Close()
	address := server.srv.Listener.Addr().String()
	switch {
	case packages == "" || debian == "":
		s.add(what, "-", "", "", `not measured: eval "$(scripts/services env debian vendors)"`)
		return nil
	case strings.HasPrefix(address, "["): // the server listens on all addresses, because this machine has only a loopback address
		s.add(what, "-", "", "", "not measured: this machine has only a loopback address")
		return nil
	}
	tag := fmt.Sprintf("holdfast-bench/claude:%d", os.Getpid())
	base := fmt.Sprintf("holdfast-bench/debian:%d", os.Getpid())
	if err := s.engine.importImage(ctx, debian, base); err != nil {
		return err
	}
	s.images = append(s.images, base)
	if err := s.makeImage(ctx, image.Spec{
		Variant: image.Debian, Base: base, Agents: []string{"claude"}, Packages: packages, Tag: tag, Binary: s.binary,
	}); err != nil {
		return err
	}
	counts, errs := map[string]*[]counted{}, make(chan error, 2)
	for _, way := range []string{byResume, byHistory} {
		slug, list := "counted-by-"+way, &[]counted{}
		counts[way] = list
		if _, err := s.create(ctx, workspace.Settings{
			Slug: slug, Image: tag, Agent: workspace.AgentSpec{Kind: workspace.KindClaude}, Model: "claude-sonnet-4-5",
			Network:     workspace.Network{Mode: workspace.NetworkProxy, Domains: []string{address}},
			Credentials: []string{"ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
		}); err != nil {
			return err
		}
		go func() {
			before := counted{}
			errs <- s.tokenTurns(ctx, slug, way, "", func() {
				now := server.countsOf(way)
				*list = append(*list, now.minus(before))
				before = now
			}, "ANTHROPIC_API_KEY=made-up", "ANTHROPIC_BASE_URL="+server.srv.URL+"/"+way)
		}()
	}
	if err := errors.Join(<-errs, <-errs); err != nil {
		return err
	}
	s.addCounts(*counts[byResume], *counts[byHistory])
	return nil
}

func (s *workspaceBench) addCounts(resume, history []counted) {
	pick := func(list []counted, of func(counted) int) (out []int) {
		for _, c := range list {
			out = append(out, of(c))
		}
		return out
	}
	for _, row := range []struct {
		what     string
		of       func(counted) int
		withGoal bool
	}{
		{"Claude Code: input that was not in the server's cache", func(c counted) int { return c.fresh }, true},
		{"Claude Code: all input, cached or not", func(c counted) int { return c.all }, false},
	} {
		s.addTokenRows(row.what, pick(resume, row.of), pick(history, row.of), row.withGoal)
	}
	last := func(list []counted) string {
		c := list[len(list)-1]
		return fmt.Sprintf("%d requests, %.1f KB", c.requests, float64(c.bytes)/1000)
	}
	s.add(fmt.Sprintf("turn %d, Claude Code: what it sends", len(resume)), "resume "+last(resume), "history "+last(history), "", "")
}

// importImage creates an image from an archive of its files.
func (e *bareEngine) importImage(ctx context.Context, file, name string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	repo, tag, _ := strings.Cut(name, ":")
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://engine/images/create?fromSrc=-&repo="+repo+"&tag="+tag, f)
	if err != nil {
		return err
	}
	res, err := e.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err == nil && (res.StatusCode >= 400 || strings.Contains(string(text), `"error"`)) {
		err = fmt.Errorf("import %s: %s %s", name, res.Status, text)
	}
	return err
}
