package protectedpaths

import (
	"slices"
	"testing"
)

func TestNames(t *testing.T) {
	p, s := Protected(), Secrets()
	for _, tt := range []struct {
		list []string
		want string
	}{
		{p.Folders, ".vscode"},
		{p.Folders, ".config/git"},
		{p.Files, ".mcp.json"},
		{p.Files, "lefthook.*"},
		{p.Excluded, ".claude/worktrees"},
		{s.Folders, ".ssh"},
		{s.Folders, ".config/gcloud"},
		{s.Files, ".netrc"},
		{s.Files, "*.pem"},
	} {
		if !slices.IsSorted(tt.list) || !slices.Contains(tt.list, tt.want) {
			t.Errorf("%q is not in %q, or that is not sorted", tt.want, tt.list)
		}
	}
}
