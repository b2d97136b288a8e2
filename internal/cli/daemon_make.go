package cli

import (
	"context"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/audit/secret"
	"github.com/holdfast-dev/holdfast/internal/daemon/runs"
	"github.com/holdfast-dev/holdfast/internal/daemon/strategy"
	"github.com/holdfast-dev/holdfast/internal/outcome"
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
	p, missing, err := m.program(ctx, &n)
	if err != nil {
		return nil, err
	}
	flags, err := specFlags(&n.Spec)
	if err != nil {
		return nil, err
	}
	flags.SystemPrompt = orElse(flags.SystemPrompt, n.Agent.SystemPrompt)
	flags.Model = orElse(flags.Model, n.Agent.Model)
	if flags.OnlyTools == nil {
		flags.OnlyTools = n.Agent.Tools
	}
	if flags.MaxTurns == 0 {
		flags.MaxTurns = n.Agent.MaxSteps
	}
	if n.Spec.Workspace != "" {
		return m.inWorkspace(ctx, p, &n, &flags)
	}
	if n.Agent.Type == strategy.Command {
		return m.command(ctx, p, &n, &flags)
	}
	name := orElse(flags.Model, p.env("HOLDFAST_MODEL"))
	if name == "" {
		return nil, usage("agent "+n.Agent.Name+": no model is named", "name one in the request or in the strategy, or set HOLDFAST_MODEL for the daemon")
	}
	for _, name := range []string{name, flags.FallbackModel} {
		if key := keyVariable(name); slices.Contains(missing, key) {
			return nil, &failure{
				msg:  "the run was started with " + key + " in its caller's environment, and the daemon, which keeps no values, does not have it any more",
				hint: "continue it from there: holdfast run --resume " + n.Run + "; or set " + key + " for the daemon, or start runs with --env-from " + key + "=keyring:SERVICE/USER",
				out:  outcome.Usage,
			}
		}
	}
	made, err := m.finish(ctx, p, &n, &flags)
	if err == nil && len(missing) > 0 {
		attach := made.Attach
		made.Attach = func(a *agent.Agent) {
			attach(a)
			a.Notice("variables that the run was started with are missing since the daemon restarted: " + strings.Join(missing, ", "))
		}
	}
	return made, err
}

func (m *maker) finish(ctx context.Context, p *Program, n *runs.Need, flags *agentFlags) (*runs.Made, error) {
	parts, err := flags.make(ctx, p, n.Spec.Cwd, false)
	if err != nil {
		return nil, err
	}
	said := notices(p, parts.rules, parts.box)
	made := &runs.Made{Model: parts.models.primary, Options: parts.options, Close: parts.close, Attach: func(a *agent.Agent) {
		parts.attach(a)
		if n.By.Via == viaCLI { // it has told its person by itself
			return
		}
		for _, text := range said {
			a.Notice(text)
		}
	}}
	if n.Spec.Worktree.Enabled {
		if err := parts.box.checkApart(); err != nil {
			parts.close()
			return nil, err
		}
		inWorktree(ctx, p, parts.box, n.Spec.Worktree.Name, made)
	}
	return made, nil
}

// inWorktree has an agent work in a worktree, which goes when the run completes and nothing in it
// would be lost.
func inWorktree(ctx context.Context, p *Program, b *toolbox, name string, made *runs.Made) {
	enter := b.apart(name, "run")
	made.Options.Enter = func(ctx context.Context) (dir, told string, err error) {
		dir, told, err = enter(ctx)
		if a := agent.Of(ctx); err == nil && a != nil {
			a.Notice("in the worktree " + b.own.Path + ", on the branch " + b.own.Branch)
		}
		return dir, told, err
	}
	made.Leave = func(completed bool) {
		if text := b.leaveApart(context.WithoutCancel(ctx), !completed); text != "" {
			p.warn("%s", text)
		}
	}
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
// environment, but with the daemon's home and store. Without the client, after a restart, the
// environment is the daemon's own; missing are the client's variables that it does not have.
func (m *maker) program(ctx context.Context, n *runs.Need) (_ *Program, missing []string, err error) {
	p := *m.p
	p.Getwd = func() (string, error) { return n.Spec.Cwd, nil }
	p.Stdin, p.Stdout, p.Stderr = strings.NewReader(""), &lineLog{log: m.log, run: n.Run}, &lineLog{log: m.log, run: n.Run}
	if n.Environ != nil {
		p.Env = append(withoutServiceVariables(n.Environ), "HOLDFAST_HOME="+m.home)
		p.environ = p.Env
	}
	more, err := p.fetchVariables(ctx, n.Spec.Environment.From)
	if err != nil {
		return nil, nil, err
	}
	if len(more) > 0 {
		p.Env = slices.Concat(p.Env, more)
		p.environ = p.Env
	}
	if n.Environ == nil {
		missing = slices.DeleteFunc(slices.Clone(n.Spec.Environment.Variables), func(name string) bool {
			return slices.ContainsFunc(p.Env, func(pair string) bool { return strings.HasPrefix(pair, name+"=") })
		})
	}
	p.out, p.err = newPrinter(p.Stdout, terminal{}), newPrinter(p.Stderr, terminal{})
	p.telemeter = m.telemeter
	return &p, missing, nil
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

// mask is [runs.Options].Mask: what masks secrets as the settings of a folder and of a run say.
func (m *maker) mask(_ context.Context, cwd string, more []string) (*secret.Masker, error) {
	for _, file := range more {
		if info, err := os.Stat(file); !isInline(file) && err == nil && !info.Mode().IsRegular() { // a pipe would be waited for
			return nil, usage("the settings "+file+" are not a regular file", "")
		}
	}
	s, err := m.p.loadSettings(cwd, more)
	if err != nil {
		return nil, err
	}
	return s.Masker()
}
