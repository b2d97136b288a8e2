package registries

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Nothing that may be a secret is left of a .npmrc.
func TestPlainNPM(t *testing.T) {
	dir := filepath.Join("testdata", "npm")
	want := "registry=https://npm.acme.example/all/\n@acme:registry=https://npm.acme.example/acme/\nstrict-ssl=true\nlegacy-peer-deps=true\nhoist-pattern[]=*eslint*\n"
	if got := string(RedactedNPM(dir)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, none := range []string{"", t.TempDir()} {
		if got := RedactedNPM(none); got != nil {
			t.Errorf("%q: %q", none, got)
		}
	}
}

func TestPlainPip(t *testing.T) {
	dir := filepath.Join("testdata", "pip")
	if got, want := PipSecrets(dir), []string{filepath.Join(dir, ".config/pip/pip.conf")}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	got := string(RedactedPip(dir))
	if strings.Contains(got, "ann") || strings.Contains(got, "tok") || !strings.Contains(got, "index-url = https://pypi.acme.example:8443/simple\n") {
		t.Errorf("%q", got)
	}
}

func TestLogins(t *testing.T) {
	dir := filepath.Join("testdata", "logins")
	var got []string
	for _, l := range Logins(dir) {
		name, _ := filepath.Rel(dir, l.File)
		got = append(got, l.Host+" "+name)
	}
	if want := []string{"npm.acme.example .npmrc", "other.example .npmrc", "git.acme.example .netrc", "pypi.acme.example .pip/pip.conf"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := Logins(""); got != nil {
		t.Errorf("without a home: %v", got)
	}
}
