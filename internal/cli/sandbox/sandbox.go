package sandbox

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/outcome"
	"github.com/holdfast-dev/holdfast/internal/settings"
	"github.com/holdfast-dev/holdfast/policy"
	"github.com/holdfast-dev/holdfast/sandbox"
)

// box is the sandbox settings of one file or layer, compiled.
type box struct {
	checker *sandbox.Checker
	where   string
}

// boxes returns what applies in cwd: what was given with --settings alone, or
// else the sandbox blocks of all layers. None at all is an error: a check
// against nothing would allow everything.
func boxes(p *command.Program, given, cwd string) ([]box, error) {
	if given != "" {
		return givenBoxes(p, given, cwd)
	}
	s, err := p.LoadSettings(cwd, nil)
	if err != nil {
		return nil, err
	}
	list := boxesOf(s)
	if len(list) == 0 {
		return nil, outcome.Invalid("no sandbox settings apply in "+cwd, "give some with --settings FILE")
	}
	return list, nil
}

func boxesOf(s *settings.Settings) []box {
	var list []box
	for i := range s.Sandboxes {
		b := &s.Sandboxes[i]
		list = append(list, box{b.Checker(), settings.Where(b.Origin)})
	}
	return list
}

// givenBoxes reads what --settings names: a file or JSON; a settings file, or
// the sandbox settings alone.
func givenBoxes(p *command.Program, given, cwd string) ([]box, error) {
	source, file, dir := []byte(given), "--settings", cwd
	if !strings.HasPrefix(strings.TrimSpace(given), "{") {
		var err error
		if file, err = p.Path(given); err != nil {
			return nil, err
		}
		if source, err = os.ReadFile(file); err != nil {
			return nil, outcome.Invalid(err.Error(), "give a settings file, or JSON")
		}
		dir = filepath.Dir(file)
	}
	b, err := readBox(p, source, file, dir)
	if err != nil {
		return nil, err
	}
	return []box{b}, nil
}

// readBox reads sandbox settings: alone, or as the block of a settings file.
func readBox(p *command.Program, source []byte, file, dir string) (box, error) {
	if inSettingsFile(source) {
		given := file
		if file == "--settings" {
			given = string(source)
		}
		s, err := settings.Load(&settings.Options{User: p.UserHome(), Cwd: dir, Files: []string{given}, Alone: true})
		if err != nil {
			return box{}, err
		}
		list := boxesOf(s)
		if len(list) != 1 {
			return box{}, outcome.Invalid(file+` has no "sandbox" block`, "")
		}
		return list[0], nil
	}
	s := &sandbox.Settings{}
	if err := s.Decode(source); err != nil {
		return box{}, settingsFailure(err, source, file)
	}
	c, err := sandbox.NewChecker(s, &sandbox.Options{Home: p.UserHome(), Dir: dir, Origin: policy.Origin{Layer: layernames.Flag, File: file}})
	if err != nil {
		return box{}, settingsFailure(err, source, file)
	}
	return box{c, file}, nil
}

// inSettingsFile reports whether a text is a settings file rather than sandbox
// settings alone.
func inSettingsFile(source []byte) bool {
	var top map[string]json.RawMessage
	if json.Unmarshal(source, &top) != nil {
		return false
	}
	for _, key := range []string{"sandbox", "permissions", "$schema"} {
		if _, ok := top[key]; ok {
			return true
		}
	}
	return false
}

// checkBoxes asks all settings; the first denial counts.
func checkBoxes(list []box, check func(*sandbox.Checker) error) (where string, err error) {
	for _, b := range list {
		if err := check(b.checker); err != nil {
			return b.where, err
		}
	}
	return "", nil
}
