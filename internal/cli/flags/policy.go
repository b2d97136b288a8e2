package flags

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

// SettingsFlags say which settings judge.
type SettingsFlags struct {
	CWD            string
	PermissionMode string
	Settings       []string
}

func (c *SettingsFlags) Declare(b *command.Builder) {
	b.Flag(&c.CWD, "cwd", "", "FOLDER", "The folder the session would work in; default the current one.")
	b.Flag(&c.PermissionMode, "permission-mode", "", "MODE", "The permission mode; default what settings say.")
	b.Flag(&c.Settings, "settings", "", "FILE|JSON", "More settings, stronger than those of the folder and the user; may be repeated.")
}

// Load reads the settings of the folder, and those named by the flags.
func (f *SettingsFlags) Load(p *command.Program, alone bool) (*settings.Settings, error) {
	o, err := f.options(p, alone)
	if err != nil {
		return nil, err
	}
	return settings.Load(o)
}

func (f *SettingsFlags) options(p *command.Program, alone bool) (*settings.Options, error) {
	if f.PermissionMode != "" {
		if err := policy.Mode(f.PermissionMode).Check(); err != nil {
			return nil, outcome.Invalid(err.Error(), "")
		}
	}
	cwd, err := p.Folder(f.CWD)
	if err != nil {
		return nil, err
	}
	files, err := SettingsFiles(p, f.Settings)
	if err != nil {
		return nil, err
	}
	o := &settings.Options{User: p.UserHome(), Cwd: cwd, Files: files, Alone: true}
	if !alone {
		if o, err = p.SettingsOptions(cwd, files); err != nil {
			return nil, err
		}
	}
	o.Flags.Mode = policy.Mode(f.PermissionMode)
	return o, nil
}
