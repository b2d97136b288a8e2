package policy

import (
	"maps"
	"slices"
)

// Names is a list of paths by the names of their parts, in lower case: folders
// (".vscode", ".config/git") and files (".npmrc", or a pattern, "lefthook.*").
type Names struct {
	Folders []string
	Files   []string
	Except  []string // folders in Folders whose content does not count: ".claude/worktrees"
}

// ProtectedNames returns the list that [ProtectedPaths] asks about, sorted. The
// kernel sandbox keeps commands from writing what is on it.
func ProtectedNames() Names { return loadProtected().writes.names() }

// SecretNames returns the list that [IsSecret] compares with, sorted.
func SecretNames() Names { return loadProtected().secrets.names() }

func (n *namedPaths) names() Names {
	folders := slices.AppendSeq(slices.Collect(maps.Keys(n.folders)), maps.Keys(n.pairs))
	slices.Sort(folders)
	files := slices.AppendSeq(slices.Clone(n.pattern), maps.Keys(n.exact))
	slices.Sort(files)
	return Names{Folders: folders, Files: files, Except: slices.Sorted(maps.Keys(n.except))}
}
