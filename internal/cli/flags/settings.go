// Package flags has the sets of flags that several command groups share, and reads what they
// name: sessions, settings, folders, points in time, and what an agent is made of.
//
//	type showCmd struct {
//		flags.SessionArg
//		command.StoreFlags
//	}
package flags

import (
	"path/filepath"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/cli/command"
)

// SettingsFiles makes what --settings names absolute: the paths are relative to
// where the program was started, not to --cwd.
func SettingsFiles(p *command.Program, given []string) ([]string, error) {
	var files []string
	for _, f := range given {
		if !isInline(f) && f != "" && !filepath.IsAbs(f) {
			wd, err := p.Getwd()
			if err != nil {
				return nil, err
			}
			f = filepath.Join(wd, f)
		}
		files = append(files, f)
	}
	return files, nil
}

// isInline reports whether what --settings got is JSON rather than a file's name.
func isInline(given string) bool { return strings.HasPrefix(strings.TrimSpace(given), "{") }
