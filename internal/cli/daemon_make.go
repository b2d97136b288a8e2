package cli

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/otel"
	"github.com/holdfast-dev/holdfast/settings"
	"github.com/holdfast-dev/holdfast/workspace"
)

// maker makes the agents of the daemon's runs, as `holdfast run` makes its own.
type maker struct {
	p         *Program
	home      string
	log       *slog.Logger
	telemeter *otel.Telemetry
	spaces    *workspace.Workspaces
}

// make is [runs.Options].Make.
func (m *maker) make(ctx context.Context, n runs.Need) (*runs.Made, error) {
	p := m.program(&n)
	flags := agentFlags{Model: n.Model, SystemPrompt: n.Agent.SystemPrompt, OnlyTools: n.Agent.Tools, MaxTurns: n.Agent.MaxSteps, MaxBudgetUSD: n.Budget}
	flags.PermissionMode = n.Mode
	if n.Settings != "" {
		flags.Settings = []string{n.Settings}
	}
	if flags.Model == "" {
		flags.Model = n.Agent.Model
	}
	if n.Workspace != "" {
		return m.inWorkspace(ctx, p, &n, &flags)
	}
	if n.Agent.Type == strategy.Command {
		return m.command(ctx, p, &n, &flags)
	}
	if orElse(flags.Model, p.env("HOLDFAST_MODEL")) == "" {
		return nil, usage("agent "+n.Agent.Name+": no model is named", "name one in the request or in the strategy, or set HOLDFAST_MODEL for the daemon")
	}
	return m.finish(ctx, p, &n, &flags)
}

func (m *maker) finish(ctx context.Context, p *Program, n *runs.Need, flags *agentFlags) (*runs.Made, error) {
	made, err := flags.make(ctx, p, n.Cwd, false)
	if err != nil {
		return nil, err
	}
	said := notices(p, made.rules, made.box)
	return &runs.Made{Model: made.models.primary, Options: made.options, Close: made.close, Attach: func(a *agent.Agent) {
		made.attach(a)
		if n.By.Via == viaCLI { // it has told its person by itself
			return
		}
		for _, text := range said {
			a.Notice(text)
		}
	}}, nil
}

// viaCLI is what a run says of a client that is this program's command line.
const viaCLI = "cli"

// notices prints, which is logged, what does not count in a run and why, and returns it.
func notices(p *Program, rules *settings.Settings, box *toolbox) []string {
	lines := p.Stderr.(*lineLog).during(func() { //nolint:forcetypeassert // the maker has made it
		p.notice(rules)
		box.showInstructions(false)
		box.showDefinitions()
	})
	var list []string
	for _, line := range lines {
		if hint, ok := strings.CutPrefix(line, "hint: "); ok && len(list) > 0 {
			list[len(list)-1] += "; " + hint
			continue
		}
		list = append(list, strings.TrimPrefix(line, "holdfast: "))
	}
	return list
}

// program is this program as it would be for a client: in its folder and with its
// environment, but with the daemon's home and store.
func (m *maker) program(n *runs.Need) *Program {
	p := *m.p
	p.Getwd = func() (string, error) { return n.Cwd, nil }
	p.Stdin, p.Stdout, p.Stderr = strings.NewReader(""), &lineLog{log: m.log, run: n.Run}, &lineLog{log: m.log, run: n.Run}
	if n.Environ != nil {
		p.Env = append(withoutServiceVariables(n.Environ), "HOLDFAST_HOME="+m.home)
		p.environ = p.Env
	}
	p.out, p.err = newPrinter(p.Stdout, terminal{}), newPrinter(p.Stderr, terminal{})
	p.telemeter = m.telemeter
	return &p
}

// lineLog logs what would be printed.
type lineLog struct {
	log *slog.Logger
	run string

	mu    sync.Mutex
	keeps bool
	kept  []string
}

func (l *lineLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		l.log.Info(line, "run", l.run)
		if l.keeps {
			l.kept = append(l.kept, line)
		}
	}
	return len(b), nil
}

// during returns the lines that are printed while do runs.
func (l *lineLog) during(do func()) []string {
	l.keep(true)
	do()
	return l.keep(false)
}

func (l *lineLog) keep(on bool) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.kept
	l.keeps, l.kept = on, nil
	return was
}

// mask is [runs.Options].Mask: what masks secrets as the settings of a folder say.
func (m *maker) mask(_ context.Context, cwd, more string) (*secret.Masker, error) {
	var files []string
	if more != "" {
		if info, err := os.Stat(more); err == nil && !info.Mode().IsRegular() { // a pipe would be waited for
			return nil, usage("the settings "+more+" are not a regular file", "")
		}
		files = []string{more}
	}
	s, err := m.p.loadSettings(cwd, files)
	if err != nil {
		return nil, err
	}
	return s.Masker()
}
