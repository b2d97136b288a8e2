//go:build linux && (amd64 || arm64)

package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/testneed"
)

// The settings of the Open Agent SDK's two examples, with the session's folder for /project. Real commands
// run under them: they read what is allowed; denied paths are inaccessible, including names and sizes.
func TestSDKExampleSettings(t *testing.T) {
	for _, tt := range []struct {
		name, settings string
		writable       string
		closed         []string
	}{
		{"configuration", `{"allowedReadPaths": ["@/"], "allowedWritePaths": ["@/build/"], "deniedPaths": ["/etc/", "/var/"],
			"deniedCommands": ["rm", "sudo"], "network": {"allowedDomains": ["api.example.com"], "allowLocalBinding": false}}`, "build", []string{"/etc", "/var"}},
		{"complete example", `{"allowedReadPaths": ["@/"], "allowedWritePaths": ["@/src/", "@/tests/"], "deniedPaths": ["/etc/", "/var/", "/tmp/"],
			"deniedCommands": ["rm", "sudo", "chmod", "chown"]}`, "src", []string{"/etc", "/var", "/tmp"}},
		{"denied alone", `{"deniedPaths": ["/etc/", "/var/"]}`, "build", []string{"/etc", "/var"}},
		{"a folder below", `{"allowedReadPaths": ["@/"], "deniedPaths": ["/var/tmp", "/usr/share", "/home"]}`, "build", []string{"/var/tmp", "/usr/share", "/home"}},
		{"what programs need", `{"deniedPaths": ["/run", "/sys", "/dev", "/proc", "/mnt"]}`, "build", []string{"/run", "/sys", "/mnt"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := projectOutsideTmp(t)
			box := openBoxIn(t, strings.ReplaceAll(tt.settings, "@", dir), dir)
			run := func(line string) (string, error) {
				c := sh(t, box, line)
				var out bytes.Buffer
				c.Stdout, c.Stderr = &out, &out
				err := c.Run()
				return out.String(), err
			}
			if out, err := run("cat readme && echo made > " + tt.writable + "/new && cat " + tt.writable + "/new && echo x > $TMPDIR/y && cat $TMPDIR/y"); err != nil || out != "text\nmade\nx\n" {
				t.Errorf("what is allowed: %q, %v", out, err)
			}
			for _, path := range tt.closed {
				entries, err := os.ReadDir(path)
				if err != nil {
					t.Fatal(err)
				}
				if out, err := run("ls " + path); err == nil {
					t.Errorf("ls %s: %q", path, out)
				}
				for i, e := range entries {
					if out, err := run("stat -c %s " + path + "/" + e.Name()); err == nil || i > 3 {
						if err == nil {
							t.Errorf("the size of %s/%s is %s", path, e.Name(), out)
						}
						break
					}
				}
				if out, err := run("echo x > " + path + "/new"); err == nil {
					t.Errorf("written below %s: %q", path, out)
				}
			}
		})
	}
}

// projectOutsideTmp creates the folder of a project outside of /tmp.
func projectOutsideTmp(t *testing.T) string {
	t.Helper()
	under, ok := testneed.OutsideTmp()
	if !ok {
		t.Skip("no folder of this user outside of /tmp: set HOME to one")
	}
	dir, err := os.MkdirTemp(under, "holdfast-seed-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	for _, name := range []string{"build", "src", "tests"} {
		if err := os.Mkdir(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "readme"), []byte("text\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}
