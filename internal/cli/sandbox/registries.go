package sandbox

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/registries"
)

// privateRegistries returns the private registries that package managers use in the selected
// folder, according to their configuration.
func (c *allowCmd) privateRegistries(p *command.Program) ([]registries.Registry, error) {
	dir, err := p.Folder(c.CWD)
	if err != nil {
		return nil, err
	}
	return registries.Find(&registries.Locations{Home: p.UserHome(), Dir: dir, Get: p.Getenv}), nil
}

// addRegistries adds the registries in the user's own configuration to the hosts to allow. It omits
// registries that only a file of the project names.
func (c *allowCmd) addRegistries(list []registries.Registry) error {
	n := len(c.Host)
	for _, r := range list {
		if !r.Project && !slices.Contains(c.Host, r.Host) {
			c.Host = append(c.Host, r.Host)
		}
	}
	if n == len(c.Host) && len(c.Write)+n == 0 {
		return outcome.Invalid("your configuration names no private registry", "name its host: holdfast sandbox allow --host npm.example.com")
	}
	return nil
}

// reportRegistries warns about private registries that this call does not allow. It reports the
// private registries of a package manager if its public registries are allowed. With --registries
// it also reports those of the project.
func (c *allowCmd) reportRegistries(p *command.Program, list []registries.Registry) {
	for _, r := range list {
		if slices.Contains(c.Host, r.Host) || !slices.Contains(c.Host, r.Name) && !c.Registries {
			continue
		}
		origin := ""
		if r.Project {
			origin = ", a file of the project,"
		}
		p.Warn("%s%s names the registry %s, which was not added; hint: if you trust it, run holdfast sandbox allow --host %s", r.Source(), origin, r.Host, r.Host)
	}
}
