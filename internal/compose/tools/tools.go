// Package tools makes the tools of a run: files, search, shell, background, worktrees, plan
// mode, questions, web, skills, MCP servers, sub-agents and the list of tasks.
//
//	settings, spec ─► sandbox, hooks, folders ─► kits ─► registry ─► agent
//
// Each sub-agent gets a toolbox of its own over the same sandbox, hooks and rules.
package tools

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/hooks"
	"github.com/holdfast-dev/holdfast/internal/instructions"
	"github.com/holdfast-dev/holdfast/internal/otel"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/internal/tool/files"
	"github.com/holdfast-dev/holdfast/internal/tool/mcp"
	"github.com/holdfast-dev/holdfast/internal/tool/search"
	"github.com/holdfast-dev/holdfast/internal/tool/shell"
	"github.com/holdfast-dev/holdfast/internal/tool/skills"
	"github.com/holdfast-dev/holdfast/internal/tool/workdir"
	"github.com/holdfast-dev/holdfast/internal/tool/worktree"
	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/runspec"
	"github.com/holdfast-dev/holdfast/sandbox"
	"github.com/holdfast-dev/holdfast/tool"
)

// Options are what the tools of a run are made from.
type Options struct {
	Env      *env.Env
	Settings *settings.Settings
	Spec     *runspec.Spec
	Cwd      string

	// Model answers for the whole run when the host brings it: sub-agents get no other.
	Model model.Model
	// HostTools are the host's own tools. The guard judges them as all others.
	HostTools []tool.Tool

	Contained  bool // a container holds the whole process
	NoShell    bool // there is no shell, and so no Bash
	Foreground bool // nothing goes on in the background
	Verbose    bool // notices say what the sandbox cannot do
}

// Toolbox is what the model may call in a run, over the run's folders.
//
//	kits ─► tools ─► registry, without what is denied
//	 │
//	 └─ again for each sub-agent, over folders of its own: Toolbox.derive
type Toolbox struct {
	Registry     *tool.Registry
	Permissions  policy.Config
	Background   *agent.Background // nil: every turn waits for its calls
	Instructions *instructions.Set // nil: none are read
	Telemetry    *otel.Telemetry   // observes the run and its sub-agents; nil: nothing is sent

	// Form has a person fill in what a server asks for without a record of it; nil: nobody is there.
	Form func(context.Context, *mcp.Elicitation) (mcp.Answer, error)

	folders   *workdir.Folders
	isolation *Isolation
	hooks     *hooks.Hooks
	host      *agentHandle
	keep      func(*tool.Call, []byte) (*shell.StoredOutput, error)
	worktree  *worktree.Worktree // nil without a repository
	own       *worktree.Checkout // that the agent works in from the beginning on, or nil

	found  *SkillSet      // nil: none were looked for
	skills *skills.Skills // that the model may call, or nil

	servers    *servers       // MCP, of the run; nil without any
	serversOwn *servers       // of a sub-agent alone; nil without any
	base       *tool.Registry // what there is without them
	extra      []tool.Tool    // of a sub-agent's: those of servers of its own

	// What kits are made from. In a toolbox that is made for the names of its tools they
	// may be missing.
	env        *env.Env
	settings   *settings.Settings
	spec       *runspec.Spec
	model      model.Model // see Options
	only       []string    // the only tools; nil: all
	contained  bool
	noShell    bool
	foreground bool
	ownTools   []tool.Tool
	hide       func(abs string) bool // from searches

	memory    string   // of a sub-agent's: the folder that its kind keeps; "" for none
	crew      *workers // whom the agent may give work to; nil: nobody
	actor     string   // of a teammate's: its name
	requested []string // of a sub-agent's: the tools that its kind names; nil: all

	checks, fetches bool // it is made to look at MCP servers, whose problems the caller reports, or to fetch one

	sub  bool // it is a sub-agent's
	mu   sync.Mutex
	ends []func() // last first, when the toolbox is closed
}

// toolMaker makes some of a run's tools. Kits are made side by side and do nothing but that:
// what a tool needs besides, it opens when it is called first.
type toolMaker struct {
	name string
	make func(*Toolbox) ([]tool.Tool, error)
}

// kits are all that there are, in the order in which models see their tools.
func kits() []toolMaker {
	return []toolMaker{
		{"files", (*Toolbox).filesKit},
		{"search", (*Toolbox).searchKit},
		{"shell", (*Toolbox).shellKit},
		{"background", (*Toolbox).backgroundKit},
		{"worktree", (*Toolbox).worktreeKit},
		{"plan", (*Toolbox).planKit},
		{"ask", (*Toolbox).askKit},
		{"web", (*Toolbox).webKit},
		{"skills", (*Toolbox).skillsKit},
		{"own", (*Toolbox).hostKit},
		{"mcp", (*Toolbox).mcpKit}, // last: what it has changes
		{"agents", (*Toolbox).agentsKit},
	}
}

func newToolbox(o *Options) *Toolbox {
	return &Toolbox{
		isolation: &Isolation{}, hooks: &hooks.Hooks{}, host: newHostAgent(), env: o.Env, settings: o.Settings, spec: o.Spec, model: o.Model,
		only: o.Spec.Tools, contained: o.Contained, noShell: o.NoShell, foreground: o.Foreground, ownTools: o.HostTools,
	}
}

// New makes the tools of a run as its settings want them. The caller closes the toolbox,
// after the agent.
func New(o *Options) (b *Toolbox, err error) {
	b = newToolbox(o)
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	s, e := o.Settings, o.Env
	if b.Permissions, err = s.Policy(); err != nil {
		return b, err
	}
	work, err := WorkFolders(o.Cwd, s)
	if err != nil {
		return b, err
	}
	b.isolation, err = openIsolation(&isolationOptions{Env: e, Settings: s, Folders: work, Disabled: o.Spec.Sandbox.Disabled, Contained: o.Contained, Verbose: o.Verbose})
	if err != nil {
		return b, err
	}
	b.hooks, err = hooks.Open(&hooks.Options{Env: e, Settings: s, Folders: work, NoSandbox: o.Spec.Sandbox.Disabled, Contained: o.Contained})
	if err != nil {
		return b, err
	}
	if err = b.isolation.OpenOutput(e); err != nil {
		return b, err
	}
	if b.isolation.Output != "" {
		work = append(work, b.isolation.Output)
	}
	if b.folders, err = workdir.Open(work[0], work[1:]...); err != nil {
		return b, err
	}
	b.registerFiles(b.folders)
	if err = b.setupOutputs(); err != nil {
		return b, err
	}
	if err = b.instruct(o.Cwd); err != nil {
		return b, err
	}
	b.hide = hidden(s.Rules, &b.Permissions)
	if !o.Foreground {
		b.Background = &agent.Background{}
	}
	all, err := b.tools()
	if err != nil {
		return b, err
	}
	if err = checkRules(s, o.Spec, all); err != nil {
		return b, err
	}
	if all, err = b.restrict(all); err != nil {
		return b, err
	}
	b.Registry = RemoveDenied(all, s.Rules)
	b.Permissions.Folders = b.folders.Roots()
	b.Permissions.AutoAllowConfined = b.isolation.AutoAllow()
	return b, nil
}

// derive is a toolbox with the same parts over folders of its own, which starts in cwd, for a
// sub-agent. The caller closes it.
func (b *Toolbox) derive(ctx context.Context, cwd string, w agent.SubagentRequest) (*Toolbox, error) {
	sub := &Toolbox{
		Permissions: b.Permissions, isolation: b.isolation, hooks: b.hooks, host: b.host, crew: b.crew, actor: w.Name, requested: w.Definition.Tools,
		env: b.env, settings: b.settings, spec: b.spec, model: b.model, only: b.only, contained: b.contained, noShell: b.noShell,
		foreground: b.foreground, ownTools: b.ownTools, hide: b.hide, servers: b.servers, sub: true,
	}
	if b.Background != nil {
		sub.Background = &agent.Background{}
	}
	roots := b.folders.Roots()
	var err error
	if sub.memory, err = b.memoryFolder(w.Definition); err != nil {
		return nil, err
	}
	if sub.memory != "" {
		roots = append(roots, sub.memory)
	}
	if sub.folders, err = workdir.Open(roots[0], roots[1:]...); err != nil {
		return nil, err
	}
	sub.registerFiles(sub.folders)
	if err = sub.setupOutputs(); err != nil {
		sub.Close()
		return nil, err
	}
	if err = sub.folders.SetCwd(cwd); err == nil {
		err = sub.instruct(cwd)
	}
	if err == nil {
		err = sub.connectSubagentServers(ctx, b, b.crew.servers(w.Definition.Name))
	}
	if err == nil {
		sub.Registry, err = sub.tools()
	}
	if err == nil {
		sub.Registry, err = sub.restrict(sub.Registry)
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	sub.Registry = RemoveDenied(sub.Registry, b.settings.Rules)
	return sub, nil
}

// WorkFolders are the folders that the session works in. One that settings name and
// that is not there is told with its place.
func WorkFolders(cwd string, s *settings.Settings) ([]string, error) {
	list := []string{cwd}
	for _, f := range s.Folders {
		if info, err := os.Stat(f.Value); err != nil || !info.IsDir() {
			return nil, outcome.Invalid(fmt.Sprintf("%s: there is no folder %s", settings.OriginText(f.Origin), f.Value), "make it, or take it out of additionalDirectories")
		}
		list = append(list, f.Value)
	}
	return list, nil
}

// tools makes the tools side by side: inferring and resolving their schemas is
// the longest part of a start.
func (b *Toolbox) tools() (*tool.Registry, error) {
	list := kits()
	made := make([][]tool.Tool, len(list))
	var g errgroup.Group
	g.Go(b.isolation.Ready) // what some of them wait for
	for i, k := range list {
		g.Go(func() (err error) {
			made[i], err = k.make(b)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return tool.NewRegistry(slices.Concat(made...)...)
}

func (b *Toolbox) filesKit() ([]tool.Tool, error) {
	f, err := files.New(b.folders, &files.Options{Override: b.overrides()})
	if err != nil {
		return nil, err
	}
	return b.withInstructions(f.Tools()), nil
}

func (b *Toolbox) searchKit() ([]tool.Tool, error) {
	s, err := search.New(b.folders, &search.Options{Hide: b.hide})
	if err != nil {
		return nil, err
	}
	return s.Tools(), nil
}

func (b *Toolbox) shellKit() ([]tool.Tool, error) {
	known, more := b.commandEnviron()
	sh, err := shell.New(b.folders, &shell.Options{
		OutputDir: b.isolation.Output, StoreOutput: b.keep, Sandbox: b.isolation.Sandbox(), EnvFile: b.hooks.EnvFile, Environ: known, Env: more, Background: b.Background != nil,
		Override: b.overrides(), Exec: b.offersExec(), SandboxGrants: b.opened,
	})
	if err != nil {
		return nil, err
	}
	return sh.Tools(), nil
}

// opened is what a person has opened in the sandbox for the session.
func (b *Toolbox) opened() *sandbox.Settings {
	o := &sandbox.Settings{}
	a, err := b.host.agent()
	if err != nil {
		return o
	}
	for _, g := range a.Guards().Grants() {
		switch {
		case g.Effect != policy.Allow || !g.Confined || g.Scope != "":
		case g.Operation == policy.OpWrite:
			o.AdditionalWritePaths = append(o.AdditionalWritePaths, g.Resource)
		case g.Operation == "" && g.Resource == shell.UnixSockets:
			o.Network = &sandbox.Network{AllowUnixSockets: true}
		}
	}
	return o
}

// overrides reports whether the model may ask for exceptions from denies of the session.
func (b *Toolbox) overrides() bool { return b.settings != nil && b.settings.AllowOverride.Value }

// offersExec reports whether there is the tool Exec: a rule allows it or asks about it, or the
// agent's tools name it.
func (b *Toolbox) offersExec() bool {
	names := b.requested
	names = append(slices.Clone(names), b.only...)
	return slices.Contains(names, "Exec") || b.settings != nil && slices.ContainsFunc(b.settings.Rules, func(r policy.RuleSource) bool {
		return r.Effect != policy.Deny && r.Text == "Exec"
	})
}

// backgroundKit looks after what goes on in the background.
func (b *Toolbox) backgroundKit() ([]tool.Tool, error) {
	if b.Background == nil {
		return nil, nil
	}
	return b.Background.Tools()
}

// hostKit are the tools that the host program brings.
func (b *Toolbox) hostKit() ([]tool.Tool, error) { return b.ownTools, nil }

// Names are the names of the run's tools.
func (b *Toolbox) Names() []string { return Names(b.Registry) }

// Hooks are the hooks of the run.
func (b *Toolbox) Hooks() *hooks.Hooks { return b.hooks }

// Folders are the folders that the tools work in.
func (b *Toolbox) Folders() *workdir.Folders { return b.folders }

// restrict leaves the tools that the spec names, each of which must be there.
func (b *Toolbox) restrict(all *tool.Registry) (*tool.Registry, error) {
	if b.noShell {
		all = all.Exclude("Bash")
	}
	if b.only == nil {
		return all, nil
	}
	keep, gone := map[string]bool{}, []string{}
	for _, name := range b.only {
		// A server's may come later, and a sub-agent has fewer than the run, of which all were there.
		if _, ok := all.Lookup(name); !ok && !b.sub && !isMCPTool(name) {
			return nil, outcome.Invalid("there is no tool "+name, "the tools are "+strings.Join(Names(all), ", "))
		}
		keep[name] = true
	}
	for _, name := range Names(all) {
		if !keep[name] {
			gone = append(gone, name)
		}
	}
	return all.Exclude(gone...), nil
}

// Names are the names of tools.
func Names(all *tool.Registry) []string {
	names := []string{}
	for _, s := range all.Specs() {
		names = append(names, s.Name)
	}
	return names
}

// onClose has something done when the toolbox is closed. Kits call it.
func (b *Toolbox) onClose(end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ends = append(b.ends, end)
}

// Close ends what the tools still do.
func (b *Toolbox) Close() {
	for _, end := range slices.Backward(b.ends) {
		end()
	}
	if b.folders != nil {
		_ = b.folders.Close()
	}
	if b.sub {
		return
	}
	if b.hooks != nil {
		b.hooks.Close()
	}
	if b.isolation != nil {
		b.isolation.Close()
	}
}

// checkRules refuses rules of the spec about tools that never exist: a rule that never
// applies would be taken for one that does. Some tools exist in some folders only.
func checkRules(s *settings.Settings, spec *runspec.Spec, all *tool.Registry) error {
	flags, err := Flags(spec)
	if err != nil {
		return err
	}
	for _, f := range slices.Concat(flags.Allow, flags.Deny) {
		name, _ := RuleTool(f.Text)
		if _, ok := all.Lookup(name); ok || strings.Contains(name, "*") || strings.HasPrefix(name, "mcp__") || slices.Contains(KnownTools(), name) {
			continue
		}
		return outcome.Invalid(fmt.Sprintf("%s: there is no tool %q", f.Name, name), "the tools are "+strings.Join(Names(all), ", "))
	}
	return nil
}

// DryRun makes the tools of a run to look at them: nothing is started or connected to for it.
func DryRun(o *Options) (b *Toolbox, err error) {
	b = newToolbox(o)
	defer func() {
		if err != nil {
			b.Close()
		}
	}()
	if b.Permissions, err = o.Settings.Policy(); err != nil {
		return b, err
	}
	work, err := WorkFolders(o.Cwd, o.Settings)
	if err != nil {
		return b, err
	}
	if b.folders, err = workdir.Open(work[0], work[1:]...); err != nil {
		return b, err
	}
	b.Background = &agent.Background{}
	all, err := b.tools()
	if err == nil {
		b.Registry = RemoveDenied(all, o.Settings.Rules)
	}
	return b, err
}

// DryRunNotices are the notices that the tools of a run would give, found without starting it.
func DryRunNotices(o *Options) ([]env.Notice, *instructions.Set, func(), error) {
	b := newToolbox(o)
	var err error
	if b.Permissions, err = o.Settings.Policy(); err != nil {
		return nil, nil, nil, err
	}
	fail := func(err error) ([]env.Notice, *instructions.Set, func(), error) {
		b.Close()
		return nil, nil, nil, err
	}
	work, err := WorkFolders(o.Cwd, o.Settings)
	if err != nil {
		return fail(err)
	}
	if b.folders, err = workdir.Open(work[0], work[1:]...); err != nil {
		return fail(err)
	}
	if err = b.instruct(o.Cwd); err != nil {
		return fail(err)
	}
	if _, err = b.skillsKit(); err != nil {
		return fail(err)
	}
	set, err := b.definitions()
	if err != nil {
		return fail(err)
	}
	b.crew = &workers{problems: set.Problems}
	return b.Notices(), b.Instructions, b.Close, nil
}
