package workspace

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/workspace"
)

// apply changes the settings for which there are flags. Lists are replaced as a whole.
func (f *workspaceFlags) apply(p *command.Program, s *workspace.Settings) error {
	if err := f.setFolders(p, s); err != nil {
		return err
	}
	if err := f.setLimits(s); err != nil {
		return err
	}
	setField(&s.Image, f.Image)
	if f.Agent != nil && *f.Agent != s.Agent.Kind {
		s.Agent = workspace.AgentSpec{Kind: *f.Agent}
	}
	setField(&s.Model, f.Model)
	if f.Command != nil {
		s.Agent.Command = f.Command
	}
	if f.Network != nil {
		if s.Network.Mode = *f.Network; s.Network.Mode == workspace.NetworkNone {
			s.Network.Domains = nil
		}
	}
	if f.AllowDomain != nil {
		if f.Network != nil && *f.Network == workspace.NetworkNone {
			return outcome.Invalid("--allow-domain and --network none cannot be used together", "omit one of them")
		}
		s.Network = workspace.Network{Mode: workspace.NetworkProxy, Domains: f.AllowDomain}
	}
	if f.Credential != nil {
		s.Credentials = f.Credential
	}
	return nil
}

func setField[T any](to, given *T) {
	if given != nil {
		*to = *given
	}
}

func (f *workspaceFlags) setLimits(s *workspace.Settings) error {
	for _, l := range []struct {
		flag  string
		given *string
		to    *workspace.Bytes
	}{{"--memory", f.Memory, &s.Limits.Memory}, {"--disk", f.Disk, &s.Limits.Disk}} {
		if l.given == nil {
			continue
		}
		n, err := workspace.ParseBytes(*l.given)
		if err != nil {
			return outcome.Invalid(fmt.Sprintf("%s: invalid size %q", l.flag, *l.given), "use a size such as 512m or 2g")
		}
		if n == 0 {
			return outcome.Invalid(l.flag+" cannot be 0", "omit it for the default")
		}
		*l.to = n
	}
	for flag, zero := range map[string]bool{"--cpus": f.CPUs != nil && *f.CPUs == 0, "--pids": f.PIDs != nil && *f.PIDs == 0} {
		if zero {
			return outcome.Invalid(flag+" cannot be 0", "omit it for the default")
		}
	}
	setField(&s.Limits.CPUs, f.CPUs)
	setField(&s.Limits.PIDs, f.PIDs)
	return nil
}

// setFolders sets the folders of this machine that the flags name, as absolute paths without symbolic
// links.
func (f *workspaceFlags) setFolders(p *command.Program, s *workspace.Settings) error {
	if f.Project != nil {
		s.Project = ""
		if *f.Project != "" {
			dir, err := p.Folder(*f.Project)
			if err != nil {
				return err
			}
			if s.Project, err = filepath.EvalSymlinks(dir); err != nil {
				return err
			}
		}
	}
	if f.Mount == nil {
		return nil
	}
	s.Mounts = nil
	for _, text := range f.Mount {
		m, err := f.parseMount(p, text)
		if err != nil {
			return err
		}
		s.Mounts = append(s.Mounts, m)
	}
	return nil
}

// parseMount parses HOST:AT or HOST:AT:ro. AT must not contain a colon; HOST may contain colons.
func (f *workspaceFlags) parseMount(p *command.Program, text string) (workspace.Mount, error) {
	rest, readOnly := strings.CutSuffix(text, ":ro")
	if !readOnly {
		rest = strings.TrimSuffix(rest, ":rw")
	}
	i := strings.LastIndex(rest, ":")
	if i <= 0 || i == len(rest)-1 {
		return workspace.Mount{}, outcome.Invalid(fmt.Sprintf("--mount %q is not HOST:AT", text), "use a form such as --mount ./data:/mnt/data:ro")
	}
	m := workspace.Mount{Target: rest[i+1:], ReadOnly: readOnly}
	var err error
	if m.Host, err = p.Path(rest[:i]); err != nil {
		return m, err
	}
	host, err := filepath.EvalSymlinks(m.Host)
	if err != nil {
		return m, outcome.Invalid(fmt.Sprintf("--mount %s: %s does not exist", text, m.Host), "")
	}
	m.Host = host
	return m, nil
}

func (c *createCmd) Run(ctx context.Context, p *command.Program) error {
	return c.withWorkspaces(p, func(w *workspace.Workspaces) error {
		s := workspace.Settings{Slug: c.Slug}
		if err := c.apply(p, &s); err != nil {
			return err
		}
		made, err := w.Create(ctx, s)
		if err != nil {
			return err
		}
		if err := w.CheckAccess(ctx, made.Slug); err != nil {
			p.Warn("%s", err.Error())
			if hint := outcome.Hint(err); hint != "" {
				p.Err.Line("%s %s", p.Err.Bold("hint:"), term.Escape(term.OneLine(hint)))
			}
		}
		work := cmp.Or(made.Project, w.ProjectFolder(made)+", its own folder")
		return printWorkspace(ctx, p, w, c.Slug, c.JSON, "created workspace %s for %s; next: holdfast run --workspace %s PROMPT", made.Slug, work, made.Slug)
	})
}

func (c *setCmd) Run(ctx context.Context, p *command.Program) error {
	return c.withWorkspaces(p, func(w *workspace.Workspaces) error {
		changed := false
		made, err := w.Set(ctx, c.Slug, func(s *workspace.Settings) error {
			before := fmt.Sprintf("%+v", *s)
			for _, what := range c.Clear {
				clearSetting(s, what)
			}
			err := c.apply(p, s)
			changed = before != fmt.Sprintf("%+v", *s)
			return err
		})
		if err != nil {
			return err
		}
		if !changed {
			return printWorkspace(ctx, p, w, c.Slug, c.JSON, "workspace %s is unchanged", made.Slug)
		}
		return printWorkspace(ctx, p, w, c.Slug, c.JSON, "updated workspace %s; its container is recreated when idle", made.Slug)
	})
}

func clearSetting(s *workspace.Settings, what string) {
	switch what {
	case "image":
		s.Image = ""
	case "command":
		s.Agent.Command = nil
	case "model":
		s.Model = ""
	case "domains":
		s.Network.Domains = nil
	case "mounts":
		s.Mounts = nil
	case "credentials":
		s.Credentials = nil
	}
}
