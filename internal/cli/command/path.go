package command

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Path makes a path from the command line absolute. The path is relative to the folder in which the
// program was started, not to --cwd, and the file need not exist.
func (p *Program) Path(name string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	wd, err := p.Getwd()
	if err != nil {
		return "", fmt.Errorf("current folder: %w", err)
	}
	return filepath.Join(wd, name), nil
}

// FolderArg is [Program.Path] for a folder. It also cleans the path.
func (p *Program) FolderArg(dir string) (string, error) {
	dir, err := p.Path(dir)
	if err != nil {
		return "", err
	}
	return filepath.Clean(dir), nil
}

// SettingsFiles makes the files in --settings absolute and leaves JSON unchanged.
func (p *Program) SettingsFiles(given []string) ([]string, error) {
	var files []string
	for _, f := range given {
		if f != "" && !strings.HasPrefix(strings.TrimSpace(f), "{") {
			var err error
			if f, err = p.Path(f); err != nil {
				return nil, err
			}
		}
		files = append(files, f)
	}
	return files, nil
}
