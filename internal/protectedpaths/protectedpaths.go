// Package protectedpaths lists the protected paths, which decide what other programs do, and the secrets.
// Both are given by the names of their last components. The policy asks before access to them, and the kernel
// sandbox denies it to commands.
//
//	for _, folder := range protectedpaths.Protected().Folders { … } // ".git", ".config/git"
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

// Names is a list of files and folders by name, in lower case: folders (".vscode", ".config/git") and files
// (".npmrc", or a pattern, "lefthook.*"). Each list is sorted.
type Names struct {
	Folders    []string
	Files      []string
	Excluded   []string // folders in Folders whose content is excluded: ".claude/worktrees"
	Exceptions []string // patterns for names of excluded files
}

// Protected returns the names of files and folders that decide what other programs do or run.
func Protected() Names { return load().protected.clone() }

// Secrets returns the names of files and folders that contain secrets.
func Secrets() Names { return load().secrets.clone() }

type lists struct{ protected, secrets Names }

// load parses names.json once. The file is part of the program; a test checks that it can be parsed.
var load = sync.OnceValue(func() *lists {
	var file struct {
		Folders, Except, Files, Secrets, SecretFolders, NotSecret []string
	}
	dec := json.NewDecoder(strings.NewReader(namesJSON))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&file); err != nil {
		panic("protectedpaths: names.json: " + err.Error())
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
