package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/demo"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/session"
)

const demoSession = "demo"

// demoRun is one run of the demo: a temporary folder with the project, the script and the store.
// Nothing outside is touched.
type demoRun struct {
	p         *command.Program
	dir       string
	project   string
	play      string
	db        string
	exe       string
	startedAt time.Time
}

func (c *demoCmd) Run(ctx context.Context, p *command.Program) (err error) {
	s, err := newDemoRun(p)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.cleanup(c.Rm)) }()
	t := p.Out.Style
	p.Out.Line("An agent fixes a bug in a small project. Halfway through, the agent is killed, and")
	p.Out.Line("another process resumes its session. The model is scripted; the tools, the tests,")
	p.Out.Line("the log and the kill -9 are real.")
	p.Out.Line("%s", t.Dim("folder: "+s.dir))

	s.title("1  The agent starts")
	p.Out.Line("%s", t.Dim("you: "+demo.Prompt))
	pid, err := s.runUntilKilled(ctx)
	if err != nil {
		return err
	}
	s.title(fmt.Sprintf("2  kill -9 %d", pid))
	if err := s.withLog(ctx, s.reportKilled); err != nil {
		return err
	}
	s.title("3  Another process resumes the session")
	if err := s.resume(ctx); err != nil {
		return err
	}
	s.title("4  The result")
	if err := s.tests(ctx); err != nil {
		return err
	}
	if err := s.withLog(ctx, s.reportLog); err != nil {
		return err
	}
	if !c.Rm {
		s.nextSteps()
	}
	p.Out.Line("")
	p.Out.Line("%s", t.Dim("done in "+term.Elapsed(p.Clock().Sub(s.startedAt))))
	return nil
}

func newDemoRun(p *command.Program) (*demoRun, error) {
	exe, err := p.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}
	dir, err := os.MkdirTemp(p.Getenv("TMPDIR"), "holdfast-demo-")
	if err != nil {
		return nil, fmt.Errorf("make the demo's folder: %w", err)
	}
	s := &demoRun{
		p: p, dir: dir, exe: exe, startedAt: p.Clock(), project: filepath.Join(dir, "project"),
		play: filepath.Join(dir, "play.yaml"), db: filepath.Join(dir, "sessions.db"),
	}
	if err := demo.Unpack(s.project); err != nil {
		return nil, err
	}
	if err := os.WriteFile(s.play, demo.Script(), 0o600); err != nil {
		return nil, fmt.Errorf("write the play: %w", err)
	}
	return s, nil
}

// cleanup removes the folder and prints its path, if remove is true.
func (s *demoRun) cleanup(remove bool) error {
	if !remove {
		return nil
	}
	if err := os.RemoveAll(s.dir); err != nil {
		return fmt.Errorf("remove the demo's folder: %w", err)
	}
	s.p.Out.Line("%s", s.p.Out.Dim("removed "+s.dir))
	return nil
}

func (s *demoRun) title(text string) {
	s.p.Out.Line("")
	s.p.Out.Line("%s", s.p.Out.Bold("── "+text))
}

// withLog calls do with the demo's sessions.
func (s *demoRun) withLog(ctx context.Context, do func(context.Context, *session.Sessions) error) error {
	sessions, closeStore, err := s.p.OpenStore(ctx, "sqlite:"+s.db)
	if err != nil {
		return err
	}
	defer closeStore()
	return do(ctx, sessions)
}

// reportKilled prints what the log contains after the process was killed.
func (s *demoRun) reportKilled(ctx context.Context, sessions *session.Sessions) error {
	m, err := sessions.Get(ctx, demoSession)
	if err != nil {
		return err
	}
	s.p.Out.Line("The process died while the tests ran. Its log on disk has")
	s.p.Out.Line("%s, %s. The last record says that the tests started; no record says how they ended.",
		term.Count(int(m.Head), "record"), term.Count(m.MessageCount, "item"))
	return nil
}

// tests runs the project's tests, which the agent claims to have fixed.
func (s *demoRun) tests(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", "sh test.sh && sh walk.sh")
	cmd.Dir = s.project
	out, err := cmd.CombinedOutput()
	if err != nil {
		return &outcome.Failure{
			Message: fmt.Sprintf("the project's tests still fail: %v", err), Result: outcome.Failed,
			Advice: "look at " + s.project, Cause: errors.New(string(out)),
		}
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	s.p.Out.Line("%s the project's tests, run again by this command: %s", s.ok(), term.Escape(summary(lines)))
	return nil
}

// summary returns the line with the numbers of tests.
func summary(lines []string) string {
	for _, l := range lines {
		if strings.Contains(l, "passed") {
			return strings.TrimSpace(l)
		}
	}
	return lines[len(lines)-1]
}

func (s *demoRun) ok() string { return s.p.Out.Green("ok") }

// reportLog checks the log and prints a summary.
func (s *demoRun) reportLog(ctx context.Context, sessions *session.Sessions) error {
	r, err := sessions.Verify(ctx, demoSession)
	if err != nil {
		return err
	}
	if !r.OK() {
		return command.End(outcome.Corrupt)
	}
	s.p.Out.Line("%s the log: %s in one chain of digests, none missing", s.ok(), term.Count(r.Records, "record"))
	started := map[string]int{}
	for rec, err := range sessions.Records(ctx, demoSession, session.Range{}) {
		if err != nil {
			return err
		}
		if use, ok := startOf(rec); ok {
			if started[use]++; started[use] > 1 {
				return fmt.Errorf("tool use %s was started twice", use)
			}
		}
	}
	s.p.Out.Line("%s %s, each started once; the interrupted one was not repeated without a check", s.ok(), term.Count(len(started), "tool call"))
	return nil
}

// nextSteps prints commands that can be copied and run.
func (s *demoRun) nextSteps() {
	t := s.p.Out.Style
	self := s.executable()
	store := "--store " + term.Quote("sqlite:"+s.db)
	s.title("What is stored, and what to try next")
	s.p.Out.Line("project   %s", s.project)
	s.p.Out.Line("sessions  %s", s.db)
	s.p.Out.Line("")
	for _, c := range [][2]string{
		{"read the session", "sessions show " + store + " " + demoSession},
		{"show every record", "sessions show " + store + " --records " + demoSession},
		{"verify it", "sessions verify " + store + " " + demoSession},
		{"fork it", "sessions fork " + store + " --id second-try " + demoSession},
		{"check this machine", "doctor"},
	} {
		s.p.Out.Line("  %s", t.Dim("# "+c[0]))
		s.p.Out.Line("  %s %s", self, c[1])
	}
	s.p.Out.Line("")
	s.p.Out.Line("With a real model, in your project:")
	s.p.Out.Line("  %s init", self)
	s.p.Out.Line("  %s  %s", self, t.Dim("# a conversation; /help shows commands and keys"))
	s.p.Out.Line("%s", t.Dim("To remove the demo's folder: rm -r "+term.Quote(s.dir)))
}

// executable returns the command with which the user can run this program again.
func (s *demoRun) executable() string {
	if strings.Contains(s.exe, string(filepath.Separator)+"go-build") {
		return "go run ./cmd/holdfast"
	}
	name := "holdfast"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	if found := s.p.Environment().LookPath(name); found != "" && sameFile(found, s.exe) {
		return "holdfast"
	}
	return term.Quote(s.exe)
}

func sameFile(a, b string) bool {
	ai, aerr := os.Stat(a)
	bi, berr := os.Stat(b)
	return aerr == nil && berr == nil && os.SameFile(ai, bi)
}
