package cli

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/agent"
	"github.com/holdfast-dev/holdfast/instructions"
	"github.com/holdfast-dev/holdfast/otel"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/settings"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/tool/files"
	"github.com/holdfast-dev/holdfast/tool/mcp"
	"github.com/holdfast-dev/holdfast/tool/search"
	"github.com/holdfast-dev/holdfast/tool/shell"
	"github.com/holdfast-dev/holdfast/tool/skills"
	"github.com/holdfast-dev/holdfast/tool/worktree"
)

// toolbox is what the model may call in a run, over the run's folders.
//
//	kits ─► tools ─► registry, without what is denied
//	 │
//	 └─ again for each sub-agent, over folders of its own: box.over
type toolbox struct {
	registry    *tool.Registry
	folders     *tool.Folders
	permissions policy.Config
	held        *held
	hooks       *hooks
	host        *hostAgent
	keep        func(*tool.Call, []byte) (*shell.KeptOutput, error)
	background  *agent.Background  // nil: every turn waits for its calls
	worktree    *worktree.Worktree // nil without a repository
	own         *worktree.Checkout // that the agent works in from the beginning on, or nil

	instructions *instructions.Set // nil: none are read
	found        *foundSkills      // nil: none were looked for
	skills       *skills.Skills    // that the model may call, or nil

	servers    *servers                                                    // MCP, of the run; nil without any
	serversOwn *servers                                                    // of a sub-agent alone; nil without any
	base       *tool.Registry                                              // what there is without them
	more       []tool.Tool                                                 // of a sub-agent's: those of servers of its own
	form       func(context.Context, *mcp.Elicitation) (mcp.Answer, error) // has a person fill in what a server asks without a record of it; nil: nobody is there

	// What kits are made from. In a toolbox that is made for the names of its tools they
	// may be missing.
	program  *Program
	flags    *agentFlags
	settings *settings.Settings
	hide     func(abs string) bool // from searches

	memory    string          // of a sub-agent's: the folder that its kind keeps; "" for none
	telemeter *otel.Telemetry // observes the run and its sub-agents; nil: nothing is sent

	crew   *crew    // whom the agent may give work to; nil: nobody
	who    string   // of a teammate's: its name
	wanted []string // of a sub-agent's: the tools that its kind names; nil: all

	checks bool // it is made to look at MCP servers: what is wrong with them is told once, by who looks

	sub  bool // it is a sub-agent's
	mu   sync.Mutex
	ends []func() // last first, when the toolbox is closed
}

// kit makes some of a run's tools. Kits are made side by side and do nothing but that:
// what a tool needs besides, it opens when it is called first.
type kit struct {
	name string
	make func(*toolbox) ([]tool.Tool, error)
}

// kits are all that there are, in the order in which models see their tools.
func kits() []kit {
	return []kit{
		{"files", (*toolbox).filesKit},
		{"search", (*toolbox).searchKit},
		{"shell", (*toolbox).shellKit},
		{"background", (*toolbox).backgroundKit},
		{"worktree", (*toolbox).worktreeKit},
		{"plan", (*toolbox).planKit},
		{"ask", (*toolbox).askKit},
		{"web", (*toolbox).webKit},
		{"skills", (*toolbox).skillsKit},
		{"mcp", (*toolbox).mcpKit}, // last: what it has changes
		{"agents", (*toolbox).agentsKit},
	}
}

// toolbox makes the tools of a run as its settings want them.
func (c *agentFlags) toolbox(p *Program, cwd string, s *settings.Settings, loud bool) (b *toolbox, err error) {
	b = &toolbox{held: &held{}, hooks: &hooks{}, host: newHostAgent(), program: p, flags: c, settings: s}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.permissions, err = s.Policy(); err != nil {
		return b, err
	}
	work, err := workFolders(cwd, s)
	if err != nil {
		return b, err
	}
	if b.held, err = c.hold(p, s, work, loud); err != nil {
		return b, err
	}
	if b.hooks, err = p.hooks(&hooksNeed{settings: s, folders: work, noSandbox: c.NoSandbox, contained: c.contained}); err != nil {
		return b, err
	}
	if err = b.held.outputs(p); err != nil {
		return b, err
	}
	if b.held.output != "" {
		work = append(work, b.held.output)
	}
	if b.folders, err = tool.OpenFolders(work[0], work[1:]...); err != nil {
		return b, err
	}
	if err = b.keepOutputs(); err != nil {
		return b, err
	}
	if err = b.instruct(cwd); err != nil {
		return b, err
	}
	b.hide = hidden(s.Rules, &b.permissions)
	if !c.waits {
		b.background = agent.NewBackground(nil)
	}
	all, err := b.tools()
	if err != nil {
		return b, err
	}
	if err = c.checkTools(all); err != nil {
		return b, err
	}
	if all, err = c.only(all); err != nil {
		return b, err
	}
	b.registry = withoutDenied(all, s.Rules)
	b.permissions.Folders = b.folders.Roots()
	b.permissions.AutoAllowConfined = b.held.autoAllow()
	return b, nil
}

// over is a toolbox with the same parts over folders of its own, which starts in cwd, for a
// sub-agent. The caller closes it.
func (b *toolbox) over(ctx context.Context, cwd string, w agent.Workplace) (*toolbox, error) {
	sub := &toolbox{
		permissions: b.permissions, held: b.held, hooks: b.hooks, host: b.host, crew: b.crew, who: w.Name, wanted: w.Definition.Tools,
		program: b.program, flags: b.flags, settings: b.settings, hide: b.hide, servers: b.servers, sub: true,
	}
	if b.background != nil {
		sub.background = agent.NewBackground(nil)
	}
	roots := b.folders.Roots()
	var err error
	if sub.memory, err = b.memoryFolder(w.Definition); err != nil {
		return nil, err
	}
	if sub.memory != "" {
		roots = append(roots, sub.memory)
	}
	if sub.folders, err = tool.OpenFolders(roots[0], roots[1:]...); err != nil {
		return nil, err
	}
	if err = sub.keepOutputs(); err != nil {
		sub.close()
		return nil, err
	}
	if err = sub.folders.SetCwd(cwd); err == nil {
		err = sub.instruct(cwd)
	}
	if err == nil {
		err = sub.connectOwn(ctx, b, b.crew.servers(w.Definition.Name))
	}
	if err == nil {
		sub.registry, err = sub.tools()
	}
	if err == nil {
		sub.registry, err = sub.flags.only(sub.registry)
	}
	if err != nil {
		sub.close()
		return nil, err
	}
	sub.registry = withoutDenied(sub.registry, b.settings.Rules)
	return sub, nil
}

// workFolders are the folders that the session works in. One that settings name and
// that is not there is told with its place.
func workFolders(cwd string, s *settings.Settings) ([]string, error) {
	list := []string{cwd}
	for _, f := range s.Folders {
		if info, err := os.Stat(f.Value); err != nil || !info.IsDir() {
			return nil, usage(fmt.Sprintf("%s: there is no folder %s", settings.Where(f.Origin), f.Value), "make it, or take it out of additionalDirectories")
		}
		list = append(list, f.Value)
	}
	return list, nil
}

// tools makes the tools side by side: inferring and resolving their schemas is
// the longest part of a start.
func (b *toolbox) tools() (*tool.Registry, error) {
	list := kits()
	made := make([][]tool.Tool, len(list))
	var g errgroup.Group
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

func (b *toolbox) filesKit() ([]tool.Tool, error) {
	f, err := files.New(b.folders, &files.Options{Override: b.overrides()})
	if err != nil {
		return nil, err
	}
	return b.withInstructions(f.Tools()), nil
}

func (b *toolbox) searchKit() ([]tool.Tool, error) {
	s, err := search.New(b.folders, &search.Options{Hide: b.hide})
	if err != nil {
		return nil, err
	}
	return s.Tools(), nil
}

func (b *toolbox) shellKit() ([]tool.Tool, error) {
	sh, err := shell.New(b.folders, &shell.Options{
		OutputDir: b.held.output, Keep: b.keep, Sandbox: b.held.box, EnvFile: b.hooks.envFile, Environ: b.environ(), Background: b.background != nil,
		Override: b.overrides(), Exec: b.offersExec(),
	})
	if err != nil {
		return nil, err
	}
	return sh.Tools(), nil
}

// overrides reports whether the model may ask for exceptions from denies of the session.
func (b *toolbox) overrides() bool { return b.settings != nil && b.settings.AskToOverride.Value }

// offersExec reports whether there is the tool Exec: a rule allows it or asks about it, or the
// agent's tools name it.
func (b *toolbox) offersExec() bool {
	names := b.wanted
	if b.flags != nil {
		names = append(slices.Clone(names), b.flags.OnlyTools...)
	}
	return slices.Contains(names, "Exec") || b.settings != nil && slices.ContainsFunc(b.settings.Rules, func(r policy.RuleSource) bool {
		return r.Effect != policy.Deny && r.Text == "Exec"
	})
}

// environ is the environment of whom the run is for; nil is our own.
func (b *toolbox) environ() []string {
	if b.program == nil {
		return nil
	}
	return b.program.environ
}

// backgroundKit looks after what goes on in the background.
func (b *toolbox) backgroundKit() ([]tool.Tool, error) {
	if b.background == nil {
		return nil, nil
	}
	return b.background.Tools()
}

func (b *toolbox) names() []string { return toolNames(b.registry) }

// onClose has something done when the toolbox is closed. Kits call it.
func (b *toolbox) onClose(end func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ends = append(b.ends, end)
}

func (b *toolbox) close() {
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
		b.hooks.close()
	}
	if b.held != nil {
		b.held.close()
	}
}

// checkTools refuses rules about tools that there never are: a rule that never
// applies would be taken for one that does. Some are there in some folders only.
func (c *agentFlags) checkTools(all *tool.Registry) error {
	flags, err := c.flags()
	if err != nil {
		return err
	}
	for _, f := range slices.Concat(flags.Allow, flags.Deny) {
		name, _ := ruleTool(f.Text)
		if _, ok := all.Lookup(name); ok || strings.Contains(name, "*") || strings.HasPrefix(name, "mcp__") || slices.Contains(knownTools(), name) {
			continue
		}
		return usage(fmt.Sprintf("%s: there is no tool %q", f.Name, name), "the tools are "+strings.Join(toolNames(all), ", "))
	}
	return nil
}
