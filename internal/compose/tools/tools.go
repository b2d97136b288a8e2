// Package tools creates the tools of a run: files, search, shell, background tasks, worktrees, plan
// mode, questions, web, skills, MCP servers, sub-agents and the task list.
//
//	settings, spec ─► sandbox, hooks, folders ─► kits ─► registry ─► agent
//
// Each sub-agent has its own toolbox, which shares the sandbox, hooks and rules.
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

// Options configure the tools of a run.
type Options struct {
	Env      *env.Env
	Settings *settings.Settings
	Spec     *runspec.Spec
	Cwd      string

	// Model is the host's model for the whole run: sub-agents use no other.
	Model model.Model
	// HostTools are tools of the host program. The guards apply to them as to all others.
	HostTools []tool.Tool

	Contained  bool // the whole process is in a container
	NoShell    bool // true if no shell is available, so there is no Bash tool
	Foreground bool // no background tasks
	Verbose    bool // notices also report what the sandbox cannot do
}

// Toolbox has the tools that the model may call in a run, for the run's folders.
//
//	kits ─► tools ─► registry, without what is denied
//	 │
//	 └─ again for each sub-agent, for its folders: Toolbox.derive
type Toolbox struct {
	Registry     *tool.Registry
	Permissions  policy.Config
	Background   *agent.Background // runs tools in the background; nil if every turn waits for its calls
	Instructions *instructions.Set // the instruction files; nil if none are read
	Telemetry    *otel.Telemetry   // the telemetry observer of the run and its sub-agents; nil if nothing is sent

	// Form shows the user a server's form without recording it; nil means that no one is present.
	Form func(context.Context, *mcp.Elicitation) (mcp.Answer, error)

	folders     *workdir.Folders
	isolation   *Isolation
	hooks       *hooks.Hooks
	agentHandle *agentHandle
	storeOutput func(*tool.Call, []byte) (*shell.StoredOutput, error)
	worktree    *worktree.Worktree // nil without a repository
	checkout    *worktree.Checkout // the worktree that the agent starts in, or nil

	skillSet *SkillSet      // nil until the skills have been searched
	skills   *skills.Skills // the skills that the model may call, or nil

	servers         *servers       // MCP servers of the run; nil if there are none
	subagentServers *servers       // MCP servers of a sub-agent; nil if there are none
	base            *tool.Registry // the tools without those of MCP servers
	extra           []tool.Tool    // for a sub-agent: tools of its own servers

	// Shared by the kits. Some fields may be missing in a toolbox created only for tool names.
	env        *env.Env
	settings   *settings.Settings
	spec       *runspec.Spec
	model      model.Model // see Options
	only       []string    // the names of the tools to keep; nil means all tools
	contained  bool
	noShell    bool
	foreground bool
	ownTools   []tool.Tool
	hide       func(abs string) bool // files hidden from searches

	memory    string   // for a sub-agent: the memory folder of its definition; "" for none
	workers   *workers // sub-agents and teammates; nil if there are none
	teammate  string   // for a teammate: its name
	requested []string // for a sub-agent: the tools of its definition; nil means all

	inspects, downloads bool // true if the toolbox was created to download an MCP server or to inspect MCP servers; the caller then reports their problems

	sub  bool // belongs to a sub-agent
	mu   sync.Mutex
	ends []func() // called in reverse order when the toolbox is closed
}

// kit creates some of a run's tools. Kits run in parallel and only create tools; a tool opens
// other resources on its first call.
type kit struct {
	name string
	make func(*Toolbox) ([]tool.Tool, error)
}

// kits lists all kits, in the order in which models see their tools.
func kits() []kit {
	return []kit{
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
		{"mcp", (*Toolbox).mcpKit}, // the last kit, because its tools change
		{"agents", (*Toolbox).agentsKit},
	}
}

func newToolbox(o *Options) *Toolbox {
	return &Toolbox{
		isolation: &Isolation{}, hooks: &hooks.Hooks{}, agentHandle: newAgentHandle(), env: o.Env, settings: o.Settings, spec: o.Spec, model: o.Model,
		only: o.Spec.Tools, contained: o.Contained, noShell: o.NoShell, foreground: o.Foreground, ownTools: o.HostTools,
	}
}

// New creates the tools of a run according to its settings. The caller closes the toolbox after the
// agent.
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
	if err = b.loadInstructions(o.Cwd); err != nil {
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

// derive returns a toolbox for a sub-agent, with the same parts but its own folders, starting in
// cwd. The caller closes it.
func (b *Toolbox) derive(ctx context.Context, cwd string, w agent.SubagentRequest) (*Toolbox, error) {
	sub := &Toolbox{
		Permissions: b.Permissions, isolation: b.isolation, hooks: b.hooks, agentHandle: b.agentHandle, workers: b.workers, teammate: w.Name, requested: w.Definition.Tools,
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
		err = sub.loadInstructions(cwd)
	}
	if err == nil {
		err = sub.connectSubagentServers(ctx, b, b.workers.servers(w.Definition.Name))
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

// WorkFolders returns the folders of the session. A missing folder is an error that says where the
// settings name it.
func WorkFolders(cwd string, s *settings.Settings) ([]string, error) {
	list := []string{cwd}
	for _, f := range s.Folders {
		if info, err := os.Stat(f.Value); err != nil || !info.IsDir() {
			return nil, outcome.Invalid(fmt.Sprintf("%s: folder %s not found", settings.OriginText(f.Origin), f.Value), "create it, or remove it from additionalDirectories")
		}
		list = append(list, f.Value)
	}
	return list, nil
}

// tools creates the tools in parallel, because most of the start time is needed to generate and
// resolve their schemas.
func (b *Toolbox) tools() (*tool.Registry, error) {
	list := kits()
	made := make([][]tool.Tool, len(list))
	var g errgroup.Group
	g.Go(b.isolation.Ready) // some tools need the sandbox
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
	f, err := files.New(b.folders, &files.Options{Override: b.allowsOverride()})
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
		OutputDir: b.isolation.Output, StoreOutput: b.storeOutput, Sandbox: b.isolation.Sandbox(), EnvFile: b.hooks.EnvFile, Environ: known, Env: more, Background: b.Background != nil,
		Override: b.allowsOverride(), Exec: b.offersExec(), SandboxGrants: b.openedAccess,
	})
	if err != nil {
		return nil, err
	}
	return sh.Tools(), nil
}

// openedAccess returns the sandbox access that the user has allowed for the session.
func (b *Toolbox) openedAccess() *sandbox.Settings {
	o := &sandbox.Settings{}
	a, err := b.agentHandle.agent()
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

// allowsOverride reports whether the model may request single exceptions to what the user has denied for
// the session.
func (b *Toolbox) allowsOverride() bool { return b.settings != nil && b.settings.AllowOverride.Value }

// offersExec reports whether the tool Exec is available: a rule allows or asks about it, or the
// agent's tools name it.
func (b *Toolbox) offersExec() bool {
	names := b.requested
	names = append(slices.Clone(names), b.only...)
	return slices.Contains(names, "Exec") || b.settings != nil && slices.ContainsFunc(b.settings.Rules, func(r policy.RuleSource) bool {
		return r.Effect != policy.Deny && r.Text == "Exec"
	})
}

// backgroundKit has the tools for background tasks.
func (b *Toolbox) backgroundKit() ([]tool.Tool, error) {
	if b.Background == nil {
		return nil, nil
	}
	return b.Background.Tools()
}

// hostKit has the tools of the host program.
func (b *Toolbox) hostKit() ([]tool.Tool, error) { return b.ownTools, nil }

// Names returns the names of the run's tools.
func (b *Toolbox) Names() []string { return Names(b.Registry) }

// Hooks returns the hooks of the run.
func (b *Toolbox) Hooks() *hooks.Hooks { return b.hooks }

// Folders returns the folders of the tools.
func (b *Toolbox) Folders() *workdir.Folders { return b.folders }

// restrict keeps only the tools that the spec names; a missing tool is an error.
func (b *Toolbox) restrict(all *tool.Registry) (*tool.Registry, error) {
	if b.noShell {
		all = all.Exclude("Bash")
	}
	if b.only == nil {
		return all, nil
	}
	keep, excluded := map[string]bool{}, []string{}
	for _, name := range b.only {
		// The tools of a server may be added later. For a sub-agent the names are not checked,
		// because it has only some of the run's tools.
		if _, ok := all.Lookup(name); !ok && !b.sub && !isMCPTool(name) {
			return nil, outcome.Invalid("unknown tool "+name, "the tools are "+strings.Join(Names(all), ", "))
		}
		keep[name] = true
	}
	for _, name := range Names(all) {
		if !keep[name] {
			excluded = append(excluded, name)
		}
	}
	return all.Exclude(excluded...), nil
}

// Names returns the names of tools.
func Names(all *tool.Registry) []string {
	names := []string{}
	for _, s := range all.Specs() {
		names = append(names, s.Name)
	}
	return names
}

// onClose registers a function that is called when the toolbox is closed. Kits call it.
func (b *Toolbox) onClose(end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ends = append(b.ends, end)
}

// Close stops everything that the tools still run.
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

// checkRules rejects rules of the spec for tools that do not exist. Such a rule would never apply,
// and no one would notice. Some tools exist only in some folders.
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
		return outcome.Invalid(fmt.Sprintf("%s: unknown tool %q", f.Name, name), "the tools are "+strings.Join(Names(all), ", "))
	}
	return nil
}

// DryRun creates the tools of a run for inspection, without starting or connecting anything.
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

// DryRunNotices returns the notices that a run would give, without starting it.
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
	if err = b.loadInstructions(o.Cwd); err != nil {
		return fail(err)
	}
	if _, err = b.skillsKit(); err != nil {
		return fail(err)
	}
	set, err := b.definitions()
	if err != nil {
		return fail(err)
	}
	b.workers = &workers{problems: set.Problems}
	return b.Notices(), b.Instructions, b.Close, nil
}
