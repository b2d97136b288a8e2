package policy

import (
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/protectedpaths"
)

// TestNamesAreTheLists: what the names say is what the limits compare with.
func TestNamesAreTheLists(t *testing.T) {
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
