package cli

import (
	"fmt"
	"os"
	"path/filepath"
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
}

// toolbox makes the tools of a run as its settings want them.
func (c *runCmd) toolbox(p *Program, cwd string, s *settings.Settings) (*toolbox, error) {
	config, err := s.Policy()
	if err != nil {
		return nil, err
	}
	folders, err := openFolders(cwd, s)
	if err != nil {
		return nil, err
	}
	all, err := p.tools(folders, hidden(s.Rules, &config))
	if err == nil {
		err = c.checkTools(all)
	}
	if err != nil {
		_ = folders.Close()
		return nil, err
	}
	config.Folders = folders.Roots()
	return &toolbox{registry: withoutDenied(all, s.Rules), folders: folders, permissions: config}, nil
}

// openFolders opens the folders that the tools may touch. One that settings name
// and that cannot be opened is told with its place.
func openFolders(cwd string, s *settings.Settings) (*tool.Folders, error) {
	var more []string
	for _, f := range s.Folders {
		if info, err := os.Stat(f.Value); err != nil || !info.IsDir() {
			return nil, usage(fmt.Sprintf("%s: there is no folder %s", settings.Where(f.Origin), f.Value), "make it, or take it out of additionalDirectories")
		}
		more = append(more, f.Value)
	}
	return tool.OpenFolders(cwd, more...)
}

// tools makes the tools side by side: inferring and resolving their schemas is
// the longest part of a start.
func (p *Program) tools(folders *tool.Folders, hide func(string) bool) (*tool.Registry, error) {
	var made [3][]tool.Tool
	var g errgroup.Group
	g.Go(func() error {
		f, err := files.New(folders, nil)
		if err == nil {
			made[0] = f.Tools()
		}
		return err
	})
	g.Go(func() error {
		s, err := search.New(folders, &search.Options{Hide: hide})
		if err == nil {
			made[1] = s.Tools()
		}
		return err
	})
	g.Go(func() error {
		o := shell.Options{}
		if home, err := p.home(); err == nil {
			o.OutputDir = filepath.Join(home, "output")
		}
		sh, err := shell.New(folders, &o)
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

func (b *toolbox) names() []string {
	names := []string{}
	for _, s := range b.registry.Specs() {
		names = append(names, s.Name)
	}
	return names
}

func (b *toolbox) close() { _ = b.folders.Close() }

// checkTools refuses rules about tools that there are not: a rule that never
// applies would be taken for one that does.
func (c *runCmd) checkTools(all *tool.Registry) error {
	flags, err := c.flags()
	if err != nil {
		return err
	}
	for _, f := range slices.Concat(flags.Allow, flags.Deny) {
		name, _ := ruleTool(f.Text)
		if _, ok := all.Lookup(name); ok || strings.Contains(name, "*") || strings.HasPrefix(name, "mcp__") {
			continue
		}
		var known []string
		for _, s := range all.Specs() {
			known = append(known, s.Name)
		}
		return usage(fmt.Sprintf("%s: there is no tool %q", f.Name, name), "the tools are "+strings.Join(known, ", "))
	}
	return nil
}
