package settings_test

import (
	"syscall"
	"testing"
)

// The names that a sandbox takes while a command runs in it, or has taken when it was
// killed, are no settings.
func TestPlaceholders(t *testing.T) {
	p := newTestHome(t)
	for _, name := range []string{"project/.mcp.json", "project/.holdfast", "project/.claude"} {
		if err := syscall.Mknod(p.path(name), syscall.S_IFSOCK, 0); err != nil {
			t.Fatal(err)
		}
	}
	if s := p.load(); len(s.Layers) != 0 {
		t.Errorf("%+v", s.Layers)
	}
}
