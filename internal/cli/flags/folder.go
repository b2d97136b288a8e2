package flags

import (
	"fmt"
	"path/filepath"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

// AnyFolder makes a folder of the command line absolute. It need not exist.
func AnyFolder(p *command.Program, dir string) (string, error) {
	if filepath.IsAbs(dir) {
		return filepath.Clean(dir), nil
	}
	wd, err := p.Getwd()
	if err != nil {
		return "", fmt.Errorf("current folder: %w", err)
	}
	return filepath.Join(wd, dir), nil
}
