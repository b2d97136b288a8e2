//go:build linux

package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/event"
	"github.com/holdfast-dev/holdfast/internal/hostpipe"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/workspace"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/session"
	"github.com/holdfast-dev/holdfast/transcript"
)

// hello is the script of a model that answers immediately.
const hello = "steps:\n  - {when: {any: true}, text: Hello.}\n"

// turnTimes has the times of one turn, measured from the call that starts the turn.
type turnTimes struct {
	event time.Duration // time until the first event from the container
	words time.Duration // time until the first text of the answer
	end   time.Duration
}

// turnSeries has the times of all turns that were run in one way.
type turnSeries struct{ event, words, end []time.Duration }

func (s *turnSeries) add(m turnTimes) {
	s.event, s.words, s.end = append(s.event, m.event), append(s.words, m.words), append(s.end, m.end)
}

// turn runs a turn of an agent in a workspace.
func turn(ctx context.Context, a *workspace.Agent, text string, first func(event.Event) bool) (m turnTimes, err error) {
	began := time.Now()
	for e, err := range a.Run(ctx, transcript.Text{Text: text}) {
		if err != nil {
			return m, err
		}
		now := time.Since(began)
		if m.event == 0 && first(e) {
			m.event = now
		}
		switch e := e.(type) {
		case event.TextDelta:
			if m.words == 0 {
				m.words = now
			}
		case event.Result:
			if m.end = now; e.Reason != event.ReasonCompleted || m.event == 0 || m.words == 0 {
				return m, fmt.Errorf("the turn ended so: %+v", e)
			}
		}
	}
	return m, nil
}

// bareTurn runs a process in a container until the process ends. The first event is its first line,
// and the first words are the first line that contains text_delta.
func (e *bareEngine) bareTurn(ctx context.Context, container, stdin string, args ...string) (m turnTimes, err error) {
	began := time.Now()
	x, err := e.exec(ctx, container, workspace.WorkFolder, stdin, args...)
	if err != nil {
		return m, err
	}
	for lines := bufio.NewReader(x.out); ; {
		line, err := lines.ReadString('\n')
		now := time.Since(began)
		if line != "" && m.event == 0 {
			m.event = now
		}
		if m.words == 0 && strings.Contains(line, "text_delta") {
			m.words = now
		}
		if err != nil {
			m.end = now
			break
		}
	}
	if err := e.ended(ctx, x); err != nil {
		return m, err
	}
	if m.event == 0 {
		return m, errors.New("the process of docker exec printed nothing")
	}
	return m, nil
}

// builtinTurns measures the built-in agent in a running container. It compares the second turn of
// each session with a bare exec of the same binary in the same container.
func (s *workspaceBench) builtinTurns(ctx context.Context) error {
	const slug = "own"
	project, err := s.create(ctx, workspace.Settings{Slug: slug})
	if err != nil {
		return err
	}
	play := filepath.Join(project, "hello.yaml")
	if err := errors.Join(os.WriteFile(play, []byte(hello), 0o644), os.Chmod(play, 0o644)); err != nil { //nolint:gosec // read by another user
		return err
	}
	id, _, err := s.ensure(ctx, slug)
	if err != nil {
		return err
	}
	bare := []string{
		workspace.Program, "run", "-m", "scripted/hello.yaml", "--no-sandbox", "--permission-mode", "bypassPermissions",
		"--output-format", "stream-json", "--verbose", "--include-partial-messages",
	}
	var subject, theirs, nothing turnSeries
	for i := range s.rounds(40, 8) {
		m, err := s.builtinTurn(ctx, slug, fmt.Sprintf("own-%d", i))
		if err != nil {
			return err
		}
		if _, err := s.engine.bareTurn(ctx, id, "", append(bare, "one")...); err != nil {
			return err
		}
		c, err := s.engine.bareTurn(ctx, id, "", append(bare, "--continue", "two")...)
		if err != nil {
			return err
		}
		n, err := s.engine.bareTurn(ctx, id, "", workspace.Program, "version")
		if err != nil {
			return err
		}
		if i > 0 { // warm-up
			subject.add(m)
			theirs.add(c)
			nothing.add(n)
		}
	}
	const bound = "≤ 1.3 ×"
	what := "second turn, our loop: "
	s.addPaired(what+"first event", subject.event, "exec of the same turn", theirs.event, bound)
	s.addPaired(what+"first words", subject.words, "exec of the same turn", theirs.words, bound)
	s.addPaired(what+"its end", subject.end, "exec of the same turn", theirs.end, "")
	s.addPaired(what+"first event", subject.event, "exec of holdfast version", nothing.event, "")
	return nil
}

// builtinTurn runs two turns of a new session and measures the second one.
func (s *workspaceBench) builtinTurn(ctx context.Context, slug, id string) (m turnTimes, err error) {
	var answers model.Model
	if answers, err = scripted.New([]byte(hello), nil); err != nil {
		return m, err
	}
	o := workspace.AgentOptions{Model: answers, Inside: hostpipe.Spec{Run: runspec.Spec{Permissions: runspec.Permissions{Mode: "bypassPermissions"}}, Settings: &settings.Portable{}}}
	o.Options.Sessions, o.Options.Session = s.sessions, session.RestoreOptions{SessionID: id}
	a, err := s.spaces.Agent(ctx, slug, o)
	if err != nil {
		return m, err
	}
	// All events of a second turn come from inside the container.
	for _, text := range []string{"one", "two"} {
		if m, err = turn(ctx, a, text, func(event.Event) bool { return true }); err != nil {
			break
		}
	}
	return m, errors.Join(err, a.Close())
}

// standIn is a program that replaces Claude Code. It has no model and follows the instructions in
// its prompt.
const standIn = "stand-in"

// vendorTurns does the same as builtinTurns for a vendor agent. It measures until the agent's first
// output, because the loop's own events do not come from the agent.
func (s *workspaceBench) vendorTurns(ctx context.Context) error {
	const slug = "vendor"
	id, err := s.standIn(ctx, slug)
	if err != nil {
		return err
	}
	const stdin = `{"type":"control_request","request_id":"init","request":{"subtype":"initialize"}}` + "\n" +
		`{"type":"user","message":{"role":"user","content":[{"type":"text","text":"say Hello."}]}}` + "\n"
	var subject, theirs turnSeries
	for i := range s.rounds(40, 8) {
		m, err := s.vendorTurn(ctx, slug, fmt.Sprintf("vendor-%d", i))
		if err != nil {
			return err
		}
		session := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		args := []string{workspace.WorkFolder + "/" + standIn, "-p", "--verbose", "--output-format", "stream-json", "--input-format", "stream-json"}
		if _, err := s.engine.bareTurn(ctx, id, stdin, append(args, "--session-id", session)...); err != nil {
			return err
		}
		c, err := s.engine.bareTurn(ctx, id, stdin, append(args, "--resume", session)...)
		if err != nil {
			return err
		}
		if i > 0 { // warm-up
			subject.add(m)
			theirs.add(c)
		}
	}
	s.addPaired("second turn, a stand-in for Claude Code: first words", subject.words, "exec of the stand-in", theirs.words, "≤ 1.3 ×")
	s.addPaired("second turn, a stand-in for Claude Code: its end", subject.end, "exec of the stand-in", theirs.end, "")
	return nil
}

// standIn creates a workspace whose agent is the stand-in.
func (s *workspaceBench) standIn(ctx context.Context, slug string) (id string, err error) {
	project, err := s.create(ctx, workspace.Settings{
		Slug: slug, Agent: workspace.AgentSpec{Kind: workspace.KindClaude, Command: []string{workspace.WorkFolder + "/" + standIn}},
	})
	if err != nil {
		return "", err
	}
	if err := s.program(ctx, "./workspace/testdata/claude", standIn, project); err != nil {
		return "", err
	}
	id, _, err = s.ensure(ctx, slug)
	return id, err
}

func (s *workspaceBench) vendorAgent(ctx context.Context, slug, id string, environ ...string) (*workspace.Agent, error) {
	o := workspace.AgentOptions{Environ: environ}
	o.Options.Sessions, o.Options.Session = s.sessions, session.RestoreOptions{SessionID: id}
	return s.spaces.Agent(ctx, slug, o)
}

func (s *workspaceBench) vendorTurn(ctx context.Context, slug, id string) (m turnTimes, err error) {
	a, err := s.vendorAgent(ctx, slug, id)
	if err != nil {
		return m, err
	}
	for _, text := range []string{"say one", "say Hello."} {
		if m, err = turn(ctx, a, text, isWords); err != nil {
			break
		}
	}
	return m, errors.Join(err, a.Close())
}

func isWords(e event.Event) bool {
	_, ok := e.(event.TextDelta)
	return ok
}

// addPaired adds a row for two series whose turns alternated: the ratio is the median of the ratios
// of all pairs, with their quartiles.
func (b *bench) addPaired(what string, subject []time.Duration, name string, control []time.Duration, bound string) {
	ratios := make([]float64, len(subject))
	for i := range subject {
		ratios[i] = float64(subject[i]) / float64(control[i])
	}
	if bound != "" {
		bound = goal(bound, middle(ratios) <= 1.3)
	}
	b.add(what, micros(median(subject)), name+" "+micros(median(control)), quartiles(ratios, "×"), bound)
}
