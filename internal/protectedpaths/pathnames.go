// Package protectedpaths lists files and folders that matter by the names of their parts: those
// that decide what other programs do, and those that hold secrets. The policy asks about
// them, and the kernel sandbox keeps commands from them.
//
//	for _, folder := range pathnames.Protected().Folders { … } // ".git", ".config/git"
package protectedpaths

import (
	_ "embed"
	"encoding/json"
	"slices"
	"strings"
	"sync"
)

//go:embed names.json
var namesJSON string

// Names is a list of paths by the names of their parts, in lower case: folders
// (".vscode", ".config/git") and files (".npmrc", or a pattern, "lefthook.*"). Each list is
// sorted.
type Names struct {
	Folders    []string
	Files      []string
	Excluded   []string // folders in Folders whose content does not count: ".claude/worktrees"
	Exceptions []string // patterns for names of files that do not count
}

// Protected returns the names of what decides what other programs do or run.
func Protected() Names { return load().protected.clone() }

// Secrets returns the names of what holds secrets.
func Secrets() Names { return load().secrets.clone() }

type lists struct{ protected, secrets Names }

// load reads names.json once. It is part of the program: that it can be read is a test's
// business.
var load = sync.OnceValue(func() *lists {
	var file struct {
		Folders, Except, Files, Secrets, SecretFolders, NotSecret []string
	}
	dec := json.NewDecoder(strings.NewReader(namesJSON))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		panic("pathnames: names.json: " + err.Error())
	}
	for _, list := range [][]string{file.Folders, file.Except, file.Files, file.Secrets, file.SecretFolders, file.NotSecret} {
		slices.Sort(list)
	}
	return &lists{
		protected: Names{Folders: file.Folders, Files: file.Files, Excluded: file.Except},
		secrets:   Names{Folders: file.SecretFolders, Files: file.Secrets, Exceptions: file.NotSecret},
	}
})

func (n *Names) clone() Names {
	return Names{slices.Clone(n.Folders), slices.Clone(n.Files), slices.Clone(n.Excluded), slices.Clone(n.Exceptions)}
}
