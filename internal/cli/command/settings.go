package command

import (
	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/compose/saverule"
	"github.com/holdfast-dev/holdfast/internal/settings"
)

// SettingsOptions returns the options that load the settings of a session in cwd.
func (p *Program) SettingsOptions(cwd string, files []string) (*settings.Options, error) {
	return p.Environment().SettingsOptions(cwd, files)
}

// LoadSettings loads the settings of a session in cwd, and the given settings files.
func (p *Program) LoadSettings(cwd string, given []string) (*settings.Settings, error) {
	files, err := p.SettingsFiles(given)
	if err != nil {
		return nil, err
	}
	return p.Environment().Settings(cwd, files)
}

// FolderSettings loads the settings of the folder on the command line, or of the current folder.
func (p *Program) FolderSettings(folder string) (*settings.Settings, error) {
	return p.Environment().SettingsFor(folder)
}

// SettingsAfter is [saverule.Reload].
func (p *Program) SettingsAfter(folder string, before *settings.Settings, file string) (*settings.Settings, error) {
	return saverule.Reload(p.Environment(), folder, before, file)
}

// Written describes the result of adding an entry to a list in a settings file.
type Written = saverule.Result

// NotTrusted is the reason that is shown when a saved setting is not applied.
const NotTrusted = saverule.NotTrusted

// WriteSetting adds an entry to a list in the settings of a layer (layernames.Local, Project or
// User) for runs in folder, or in the current folder if folder is "".
func (p *Program) WriteSetting(folder, layer string, list []string, text string) (Written, error) {
	return saverule.AddText(p.Environment(), saverule.Target{Folder: folder}, layer, list, text)
}

// PathEntry is [saverule.PathEntry] for a run on this machine.
func (p *Program) PathEntry(path string) string {
	return saverule.PathEntry(p.Environment(), saverule.Target{}, path)
}

// Trust opens the list of trusted folders in the program's home folder.
func (p *Program) Trust() (*settings.Trust, error) { return p.Environment().Trust() }

// UserHome returns the user's home folder, or "".
func (p *Program) UserHome() string { return p.Environment().UserHome() }

// Notices prints notices.
func (p *Program) Notices(list []env.Notice) { p.Environment().SendNotice(list...) }

// ServerNotices prints which MCP servers are not started.
func (p *Program) ServerNotices(folder string, list []settings.MCPServer) {
	p.Notices(compose.ServerNotices(folder, list))
}

// SettingsNotices prints once which settings of an untrusted folder are ignored.
func (p *Program) SettingsNotices(s *settings.Settings) { p.Notices(compose.SettingsNotices(s)) }
