package command

import (
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/saverule"
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
	return p.Environment().SettingsFor(folder)
}

// SettingsAfter is [keep.Reload].
func (p *Program) SettingsAfter(folder string, before *settings.Settings, file string) (*settings.Settings, error) {
	return saverule.Reload(p.Environment(), folder, before, file)
}

// Written says what became of a text that a person wrote into a list of a settings file.
type Written = saverule.Result

// NotTrusted is why something that was written does not count.
const NotTrusted = saverule.NotTrusted

// WriteSetting puts a text into a list of the settings of a layer (layernames.Local, Project or User)
// for runs in folder; "" is the current one.
func (p *Program) WriteSetting(folder, layer string, list []string, text string) (Written, error) {
	return saverule.Text(p.Environment(), saverule.Target{Folder: folder}, layer, list, text)
}

// PathEntry is [keep.PathEntry] for a run on this machine.
func (p *Program) PathEntry(path string) string {
	return saverule.PathEntry(p.Environment(), saverule.Target{}, path)
}

// Trust is the list of what is trusted, in the program's own folder.
func (p *Program) Trust() (*settings.Trust, error) { return p.Environment().Trust() }

// UserHome is the person's home folder, or "".
func (p *Program) UserHome() string { return p.Environment().UserHome() }

// Notices prints notices.
func (p *Program) Notices(list []env.Notice) { p.Environment().SendNotice(list...) }

// ServerNotices tells which MCP servers are left out.
func (p *Program) ServerNotices(folder string, list []settings.MCPServer) {
	p.Notices(compose.ServerNotices(folder, list))
}

// SettingsNotices tells once what an untrusted folder asks for and does not get.
func (p *Program) SettingsNotices(s *settings.Settings) { p.Notices(compose.SettingsNotices(s)) }
