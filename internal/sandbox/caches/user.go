package caches

import (
	"os"
	"path/filepath"
	"strings"
)

// User is the user whose caches commands can read.
type User struct {
	Home string                   // "": none
	Get  func(name string) string // returns the value of a variable of the user; nil means that there are no variables
}

// folder returns a folder of the user: the one that a variable names, or one below the home folder.
func (p *User) folder(variable, below string) string {
	if p.Get != nil {
		if dir := p.Get(variable); filepath.IsAbs(dir) {
			return dir
		}
	}
	return filepath.Join(p.Home, below)
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// goEnv returns the values that `go env -w` has written.
func goEnv(home string) map[string]string {
	if home == "" {
		return nil
	}
	b, err := os.ReadFile(filepath.Join(home, ".config", "go", "env"))
	if err != nil {
		return nil
	}
	values := map[string]string{}
	for line := range strings.Lines(string(b)) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok {
			values[name] = value
		}
	}
	return values
}
