package policy

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/protectedpaths"
)

// TestProtectedNames checks that the published names are the ones that the limits compare.
func TestProtectedNames(t *testing.T) {
	for _, name := range protectedpaths.Protected().Folders {
		if !loadProtected().writes.has("/w/" + name + "/x") {
			t.Errorf("%s is not protected", name)
		}
	}
	for _, name := range protectedpaths.Secrets().Files {
		if !strings.Contains(name, "*") && !isSecret("/w/"+name) {
			t.Errorf("%s is no secret", name)
		}
	}
}
