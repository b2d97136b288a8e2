package command

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// SettingsOptions say where this program's settings are for a session that works in cwd.
func (p *Program) SettingsOptions(cwd string, files []string) (*settings.Options, error) {
	return p.Environment().SettingsOptions(cwd, files)
}

// LoadSettings loads the settings of a session that works in cwd, and those that --settings names.
func (p *Program) LoadSettings(cwd string, given []string) (*settings.Settings, error) {
	files, err := p.SettingsFiles(given)
	if err != nil {
		return nil, err
	}
	return p.Environment().Settings(cwd, files)
}

// FolderSettings loads the settings of a folder that the command line names, or else of
// the current one.
func (p *Program) FolderSettings(folder string) (*settings.Settings, error) {
	return p.Environment().SettingsOf(folder)
}

// Settled loads the settings of a folder again after a change of them, where before is what they
// said until then. If all of that was trusted, or there was nothing, then the change that the
// person has just made is no reason to ask.
func (p *Program) Settled(folder string, before *settings.Settings) (*settings.Settings, error) {
	s, err := p.FolderSettings(folder)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(before.Layers, func(l settings.Layer) bool { return l.Untrusted }) {
		return s, nil
	}
	list, err := p.Trust()
	if err != nil {
		return nil, err
	}
	if ok, err := list.Add(s, p.Now()); err != nil || !ok {
		return s, err
	}
	return p.FolderSettings(folder)
}

// Trust is the list of what is trusted, in the program's own folder.
func (p *Program) Trust() (*settings.Trust, error) { return p.Environment().Trust() }

// UserHome is the person's home folder, or "".
func (p *Program) UserHome() string { return p.Environment().UserHome() }

// Notices prints notices.
func (p *Program) Notices(list []env.Notice) { p.Environment().Send(list...) }

// ServerNotices tells which MCP servers are left out.
func (p *Program) ServerNotices(folder string, list []settings.MCPServer) {
	p.Notices(compose.ServerNotices(folder, list))
}

// SettingsNotices tells once what an untrusted folder asks for and does not get.
func (p *Program) SettingsNotices(s *settings.Settings) { p.Notices(compose.SettingsNotices(s)) }
