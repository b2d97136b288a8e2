package settings_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/settings"
)

func TestFindProject(t *testing.T) {
	p := newTestHome(t)
	p.write("project/sub/deep/x", "")
	p.write("own/.holdfast/settings.json", "{}")
	p.write("own/sub/.holdfast/project", "an id is no setting")
	p.write("own/local/.holdfast/settings.local.json", "{}")
	p.write("own/repo/.git", "gitdir: elsewhere")
	p.write("own/link/x", "")
	os.MkdirAll(p.path("own/link/.holdfast"), 0o700)
	os.Symlink("nowhere", p.path("own/link/.holdfast/settings.json"))
	p.write("user/.holdfast/settings.json", "{}")
	p.write("user/sub/x", "")
	p.write("plain/file/.holdfast", "a file")
	os.Symlink("own/sub", p.path("alias"))
	for _, tt := range []struct{ dir, want string }{
		{"project", "project"},
		{"project/sub/deep", "project"},
		{"own", "own"},
		{"own/sub", "own"},
		{"own/local", "own/local"},
		{"own/repo", "own/repo"},
		{"own/link", "own/link"},
		{"alias", "own"},
		{"plain/file", "plain/file"},
		{"user/sub", "user/sub"}, // the home's own .holdfast makes it no project
	} {
		got, err := settings.FindProject(p.path(tt.dir), p.path("user/.holdfast"))
		if err != nil || got != p.path(tt.want) {
			t.Errorf("%s: %s, %v; want %s", tt.dir, got, err, tt.want)
		}
	}
	if _, err := settings.FindProject(p.path("nowhere"), ""); err == nil {
		t.Error("a folder that there is not has a project")
	}
}

// In the home folder the user's settings are not the project's as well.
func TestHomeNotProject(t *testing.T) {
	p := newTestHome(t)
	p.write("user/.holdfast/settings.json", `{"permissions": {"allow": ["Read"]}}`)
	s, err := settings.Load(&settings.Options{
		Home: p.path("user/.holdfast"), User: p.path("user"), Cwd: p.path("user"), Managed: p.path("none/settings.json"),
	})
	if err != nil || len(s.Rules) != 1 || len(s.Layers) != 1 || filepath.Base(s.Project) != "user" {
		t.Errorf("%+v %v", s, err)
	}
}
