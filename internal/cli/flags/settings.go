package flags

import (
	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
)

// Load loads the settings of the folder and the files of --settings. If alone is true, it loads
// only the files of --settings.
func (f *SettingsFlags) Load(p *command.Program, alone bool) (*settings.Settings, error) {
	if err := checkMode(f.PermissionMode); err != nil {
		return nil, err
	}
	cwd, err := p.Folder(f.CWD)
	if err != nil {
		return nil, err
	}
	files, err := p.SettingsFiles(f.Settings)
	if err != nil {
		return nil, err
	}
	o := &settings.Options{User: p.UserHome(), Cwd: cwd, Files: files, FlagsOnly: true}
	if !alone {
		if o, err = p.SettingsOptions(cwd, files); err != nil {
			return nil, err
		}
	}
	o.Flags.Mode = policy.Mode(f.PermissionMode)
	return settings.Load(o)
}

// Check rejects invalid flag values.
func (f *PermissionFlags) Check() error {
	if f.AskTimeout < 0 {
		return outcome.Invalid("--ask-timeout must not be negative", "")
	}
	return checkMode(f.PermissionMode)
}

func checkMode(mode string) error {
	if mode == "" {
		return nil
	}
	if err := policy.Mode(mode).Check(); err != nil {
		return outcome.Invalid(err.Error(), "")
	}
	return nil
}

// Layer returns the settings layer that the flags select.
func (f *SettingsLayerFlags) Layer() string {
	switch {
	case f.User:
		return layernames.User
	case f.Project:
		return layernames.Project
	}
	return layernames.Local
}
