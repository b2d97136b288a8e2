package policy

import (
	"slices"
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	p, s := ProtectedNames(), SecretNames()
	for _, tt := range []struct {
		list []string
		want string
	}{
		{p.Folders, ".vscode"},
		{p.Folders, ".config/git"},
		{p.Files, ".mcp.json"},
		{p.Files, "lefthook.*"},
		{p.Except, ".claude/worktrees"},
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

// TestNamesAreTheLists: what the names say is what the limits compare with.
func TestNamesAreTheLists(t *testing.T) {
	for _, name := range ProtectedNames().Folders {
		if !loadProtected().writes.has("/w/" + name + "/x") {
			t.Errorf("%s is not protected", name)
		}
	}
	for _, name := range SecretNames().Files {
		if !strings.Contains(name, "*") && !IsSecret("/w/"+name) {
			t.Errorf("%s is no secret", name)
		}
	}
}
