//go:build linux

package spawn

import (
	"os"
	"path/filepath"
	"testing"
)

// A process may set the limit only in a user namespace of its own. The test uses files, because with the
// kernel's a mistake would affect the whole machine.
func TestRefuse(t *testing.T) {
	for _, tt := range []struct {
		name, users, limit string
	}{
		{"own", "         0          0          1\n", "0"},
		{"the machine's", "         0          0 4294967295\n", "96365"},
		{"a container's", "0 100000 65536\n", "96365"},
		{"several", "0 1000 1\n1 100000 65536\n", "96365"},
		{"none", "", "96365"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			users, limit := filepath.Join(dir, "users"), filepath.Join(dir, "limit")
			for name, text := range map[string]string{users: tt.users, limit: "96365"} {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := refuse(users, limit)
			b, readErr := os.ReadFile(limit)
			if readErr != nil || string(b) != tt.limit || (err == nil) != (tt.limit == "0") {
				t.Errorf("limit %q, %v, %v", b, err, readErr)
			}
		})
	}
}
