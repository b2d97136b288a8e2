package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The packaged units equal those that the program prints.
func TestPackagedUnits(t *testing.T) {
	for name, want := range map[string]string{
		"holdfast.service": strings.ReplaceAll(serviceUnit, "@BINARY@", "%h/.local/bin/holdfast"), "holdfast.socket": socketUnit,
	} {
		if b, err := os.ReadFile(filepath.Join("..", "..", "..", "packaging", "systemd", name)); err != nil || string(b) != want {
			t.Errorf("packaging/systemd/%s differs from internal/cli/daemon/unit (%v)", name, err)
		}
	}
	for path, want := range map[string]string{
		"/usr/bin/holdfast": "/usr/bin/holdfast", "/a b/h": `"/a b/h"`, "/a%/$h": "/a%%/$$h", `/a"b/h`: `"/a\"b/h"`,
	} {
		if got := quoteUnit(path); got != want {
			t.Errorf("%s: %s", path, got)
		}
	}
}
