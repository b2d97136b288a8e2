package sandbox

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/confine"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// compiledSettings has the compiled sandbox settings of one file or layer.
type compiledSettings struct {
	checker *sandbox.Checker
	where   string
}

// compileLayers returns the settings that apply in cwd: those in --settings, or else the sandbox
// blocks of all layers. If there are none it returns an error, because a check without settings
// would allow everything.
func compileLayers(p *command.Program, given, cwd string) ([]compiledSettings, error) {
	if given != "" {
		return compileGiven(p, given, cwd)
	}
	s, err := p.LoadSettings(cwd, nil)
	if err != nil {
		return nil, err
	}
	list := compileSettings(s)
	if len(list) == 0 {
		return nil, outcome.Invalid("no sandbox settings apply in "+cwd, "name a settings file with --settings FILE")
	}
	return list, nil
}

func compileSettings(s *settings.Settings) []compiledSettings {
	var list []compiledSettings
	for i := range s.Sandboxes {
		b := &s.Sandboxes[i]
		list = append(list, compiledSettings{b.Checker(), settings.OriginText(b.Origin)})
	}
	return list
}

// compileGiven reads the value of --settings, a file or JSON. The value has either complete
// settings or only the sandbox block.
func compileGiven(p *command.Program, given, cwd string) ([]compiledSettings, error) {
	source, file, dir := []byte(given), "--settings", cwd
	if !strings.HasPrefix(strings.TrimSpace(given), "{") {
		var err error
		if file, err = p.Path(given); err != nil {
			return nil, err
		}
		if source, err = os.ReadFile(file); err != nil {
			return nil, outcome.Invalid(err.Error(), "name a settings file, or give JSON")
		}
		dir = filepath.Dir(file)
	}
	b, err := readCompiled(p, source, file, dir)
	if err != nil {
		return nil, err
	}
	return []compiledSettings{b}, nil
}

// readCompiled reads sandbox settings. They are either the sandbox block alone or a settings file
// that contains it.
func readCompiled(p *command.Program, source []byte, file, dir string) (compiledSettings, error) {
	if confine.InSettingsFile(source) {
		given := file
		if file == "--settings" {
			given = string(source)
		}
		s, err := settings.Load(&settings.Options{User: p.UserHome(), Cwd: dir, Files: []string{given}, FlagsOnly: true})
		if err != nil {
			return compiledSettings{}, err
		}
		list := compileSettings(s)
		if len(list) != 1 {
			return compiledSettings{}, outcome.Invalid(file+` has no "sandbox" block`, "")
		}
		return list[0], nil
	}
	s := &sandbox.Settings{}
	if err := s.Decode(source); err != nil {
		return compiledSettings{}, settingsFailure(err, source, file)
	}
	c, err := sandbox.NewChecker(s, &sandbox.Options{Home: p.UserHome(), Dir: dir, Origin: policy.Origin{Layer: layernames.Flag, File: file}})
	if err != nil {
		return compiledSettings{}, settingsFailure(err, source, file)
	}
	return compiledSettings{c, file}, nil
}

// checkLayers checks against all settings; the first denial decides.
func checkLayers(list []compiledSettings, check func(*sandbox.Checker) error) (where string, err error) {
	for _, b := range list {
		if err := check(b.checker); err != nil {
			return b.where, err
		}
	}
	return "", nil
}
