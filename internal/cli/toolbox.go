package cli

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/tool/files"
	"github.com/holdfast-dev/holdfast/tool/search"
	"github.com/holdfast-dev/holdfast/tool/shell"
)

// toolbox is what the model may call in a run, over the run's folders.
type toolbox struct {
	registry *tool.Registry
	folders  *tool.Folders
}

func (c *runCmd) toolbox(p *Program, cwd string) (*toolbox, error) {
	var more []string
	for _, dir := range c.AddDir {
		abs, err := p.folder(dir)
		if err != nil {
			return nil, err
		}
		more = append(more, abs)
	}
	folders, err := tool.OpenFolders(cwd, more...)
	if err != nil {
		return nil, err
	}
	all, err := p.tools(folders)
	if err == nil {
		err = c.checkTools(all)
	}
	if err != nil {
		_ = folders.Close()
		return nil, err
	}
	return &toolbox{registry: all.Without(c.DisallowedTools...), folders: folders}, nil
}

// tools makes the tools side by side: inferring and resolving their schemas is
// the longest part of a start.
func (p *Program) tools(folders *tool.Folders) (*tool.Registry, error) {
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
		s, err := search.New(folders, nil)
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

// checkTools refuses names that no tool has: a rule that never applies would be
// taken for one that does.
func (c *runCmd) checkTools(all *tool.Registry) error {
	for flag, names := range map[string][]string{"--allowed-tools": c.AllowedTools, "--disallowed-tools": c.DisallowedTools} {
		for _, name := range names {
			if _, ok := all.Lookup(name); ok {
				continue
			}
			var known []string
			for _, s := range all.Specs() {
				known = append(known, s.Name)
			}
			msg := fmt.Sprintf("%s: there is no tool %q", flag, name)
			if strings.Contains(name, "(") {
				msg = fmt.Sprintf("%s: %q is a rule, and only names of tools are understood", flag, name)
			}
			return usage(msg, "the tools are "+strings.Join(known, ", "))
		}
	}
	return nil
}

// permissions are what the flags say about tool calls.
func (c *runCmd) permissions(box *toolbox) policy.Config {
	p := policy.Config{Mode: policy.Mode(c.PermissionMode), Folders: box.folders.Roots()}
	if len(c.AllowedTools) > 0 {
		p.Policies = []policy.Named{{Name: "--allowed-tools", Policy: allowedTools(slices.Clone(c.AllowedTools))}}
	}
	return p
}

// allowedTools allows calls of the named tools and has no opinion on others.
type allowedTools []string

func (a allowedTools) Evaluate(r policy.Request) policy.Verdict {
	if slices.Contains(a, r.Tool) {
		return policy.Verdict{Effect: policy.Allow, Reason: "--allowed-tools " + r.Tool}
	}
	return policy.Verdict{}
}
