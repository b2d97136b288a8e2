package sandbox

import (
	"path/filepath"
	"testing"
)

// A folder that appears as /tmp needs no placeholders under its own name; a workspace does, even if it is
// that folder.
func TestTempHasNoPlaceholders(t *testing.T) {
	temp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	other, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		write     []string
		folder    string
		forbidden bool
	}{
		"named by a setting":                {[]string{temp}, other, false},
		"the workspace":                     {nil, temp, true},
		"the workspace beside it":           {nil, other, true},
		"another folder that a setting has": {[]string{other, temp}, other, true},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := NewChecker(&Settings{AllowedWritePaths: tt.write}, nil)
			if err != nil {
				t.Fatal(err)
			}
			k, err := newCompiler([]*Checker{c}, &OpenOptions{Folders: []string{tt.folder}, Home: t.TempDir(), Temp: temp})
			if err != nil {
				t.Fatal(err)
			}
			p, err := k.compile()
			if err != nil {
				t.Fatal(err)
			}
			if got := len(p.policy.Forbid) > 0; got != tt.forbidden {
				t.Errorf("forbidden are %v", p.policy.Forbid)
			}
		})
	}
}
