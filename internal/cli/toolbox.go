package cli

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/settings"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/tool/files"
	"github.com/holdfast-dev/holdfast/tool/search"
	"github.com/holdfast-dev/holdfast/tool/shell"
)

// toolbox is what the model may call in a run, over the run's folders.
type toolbox struct {
	registry    *tool.Registry
	folders     *tool.Folders
	permissions policy.Config
	held        *held
	hooks       *hooks
}

// toolbox makes the tools of a run as its settings want them.
func (c *agentFlags) toolbox(p *Program, cwd string, s *settings.Settings, loud bool) (b *toolbox, err error) {
	b = &toolbox{held: &held{}, hooks: &hooks{}}
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
	all, err := b.tools(hidden(s.Rules, &b.permissions), p.environ)
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
func (b *toolbox) tools(hide func(string) bool, environ []string) (*tool.Registry, error) {
	var made [3][]tool.Tool
	var g errgroup.Group
	g.Go(func() error {
		f, err := files.New(b.folders, nil)
		if err == nil {
			made[0] = f.Tools()
		}
		return err
	})
	g.Go(func() error {
		s, err := search.New(b.folders, &search.Options{Hide: hide})
		if err == nil {
			made[1] = s.Tools()
		}
		return err
	})
	g.Go(func() error {
		sh, err := shell.New(b.folders, &shell.Options{OutputDir: b.held.output, Sandbox: b.held.box, EnvFile: b.hooks.envFile, Environ: environ})
		if err == nil {
			made[2] = sh.Tools()
		}
		return err
	})
	if err := g.Wait(); err != nil {
		return nil, err
	}
	return tool.NewRegistry(slices.Concat(made[:]...)...)
}

func (b *toolbox) names() []string { return toolNames(b.registry) }

func (b *toolbox) close() {
	if b.folders != nil {
		_ = b.folders.Close()
	}
	if b.hooks != nil {
		b.hooks.close()
	}
	if b.held != nil {
		b.held.close()
	}
}

// checkTools refuses rules about tools that there are not: a rule that never
// applies would be taken for one that does.
func (c *agentFlags) checkTools(all *tool.Registry) error {
	flags, err := c.flags()
	if err != nil {
		return err
	}
	for _, f := range slices.Concat(flags.Allow, flags.Deny) {
		name, _ := ruleTool(f.Text)
		if _, ok := all.Lookup(name); ok || strings.Contains(name, "*") || strings.HasPrefix(name, "mcp__") {
			continue
		}
		return usage(fmt.Sprintf("%s: there is no tool %q", f.Name, name), "the tools are "+strings.Join(toolNames(all), ", "))
	}
	return nil
}
