package command

import (
	"fmt"
	"slices"

	"github.com/holdfast-dev/holdfast/internal/compose"
	"github.com/holdfast-dev/holdfast/internal/compose/env"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/sandbox/quarantine"
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

// Settled loads the settings of a folder again after the person has changed a file of them, where
// before is what they said until then. If all of that was trusted, or there was nothing, the change
// is no reason to ask: see [settings.Trust.Follow].
func (p *Program) Settled(folder string, before *settings.Settings, file string) (*settings.Settings, error) {
	s, err := p.FolderSettings(folder)
	if err != nil {
		return nil, err
	}
	list, err := p.Trust()
	if err != nil {
		return nil, err
	}
	if ok, err := list.Follow(before, s, file, p.Now()); err != nil || !ok {
		return s, err
	}
	return p.FolderSettings(folder)
}

// Written says what became of a text that a person wrote into a list of a settings file.
type Written struct {
	Layer   string `json:"layer"`
	File    string `json:"file"`
	Line    int    `json:"line,omitempty"` // where it stands; 0 when it was taken out
	Changed bool   `json:"changed"`
	Counts  bool   `json:"counts"` // from the next run on
}

// NotTrusted is why something that was written does not count.
const NotTrusted = "it does not count yet: other settings of this folder are not trusted; look at them and run: holdfast trust"

// WriteSetting puts a text into a list of the settings of a layer (layernames.Local, Project or User)
// for runs in folder; "" is the current one.
func (p *Program) WriteSetting(folder, layer string, list []string, text string) (Written, error) {
	w := Written{Layer: layer}
	home, err := p.Home()
	if err != nil {
		return w, err
	}
	before, err := p.FolderSettings(folder)
	if err != nil {
		return w, err
	}
	w.File = settings.OwnFile(layer, before.Project, home)
	err = quarantine.Of(home).Keep(w.File, func() error {
		w.Line, w.Changed, err = settings.AddText(layer, w.File, list, text)
		return err
	})
	if err != nil {
		return w, err
	}
	s, err := p.Settled(folder, before, w.File)
	if err != nil {
		return w, err
	}
	w.Counts = !slices.ContainsFunc(s.Layers, func(l settings.Layer) bool { return l.File == w.File && l.Untrusted })
	return w, nil
}

// Place is where it stands, for a person: whom it is for, the file and the line.
func (w *Written) Place() string {
	of := map[string]string{layernames.User: "for you, in every project", layernames.Project: "in this project, for all", layernames.Local: "in this project, for you"}
	if w.Line == 0 {
		return fmt.Sprintf("%s: %s", of[w.Layer], w.File)
	}
	return fmt.Sprintf("%s: %s:%d", of[w.Layer], w.File, w.Line)
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
