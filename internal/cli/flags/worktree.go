package flags

import (
	"slices"

	"github.com/holdfast-dev/holdfast/internal/tool/worktree"
)

// WorktreeFlag is the flag --worktree. The name of the worktree is optional.
type WorktreeFlag struct {
	Set  bool
	Name string // "" means a new worktree for the session
}

// defaultName is the value of the flag when it is given without a name. No worktree can have this
// name.
const defaultName = "/"

// WithoutValue returns the value of the flag when it is given without a name.
func (f *WorktreeFlag) WithoutValue() string { return defaultName }

// SetText sets the name of the worktree.
func (f *WorktreeFlag) SetText(name string) error {
	f.Set = true
	if name == defaultName {
		return nil
	}
	f.Name = name
	return worktree.CheckName(name)
}

// JoinWorktree joins --worktree and the word after it into one argument, if that word can be the
// name of a worktree.
func JoinWorktree(args []string) []string {
	for i, a := range args {
		if a == "--" {
			break
		}
		if a == "--worktree" && i+1 < len(args) && worktree.CheckName(args[i+1]) == nil {
			return append(append(slices.Clone(args[:i]), a+"="+args[i+1]), args[i+2:]...)
		}
	}
	return args
}
