package registries

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// home writes files of a person.
func home(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Nothing that may be a secret is left of a .npmrc.
func TestPlainNPM(t *testing.T) {
	dir := home(t, map[string]string{".npmrc": `# a comment
registry = "https://ann:pass-1@npm.acme.example/all/?key=pass-2#pass-3"
@acme:registry=https://npm.acme.example/acme/
@other:registry=https://npm.acme.example/${TOKEN}/
@acme:_authToken=pass-4
//npm.acme.example/acme/:_authToken=pass-5
_auth=pass-6
_password=pass-7
email=ann@acme.example
key=pass-8
proxy=http://ann:pass-9@proxy.example:8080
unknown=pass-10
ca=${CA}
strict-ssl=true
legacy-peer-deps
hoist-pattern[]=*eslint*
`})
	want := "registry=https://npm.acme.example/all/\n@acme:registry=https://npm.acme.example/acme/\nstrict-ssl=true\nlegacy-peer-deps=true\nhoist-pattern[]=*eslint*\n"
	if got := string(PlainNPM(dir)); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	for _, none := range []string{"", t.TempDir()} {
		if got := PlainNPM(none); got != nil {
			t.Errorf("%q: %q", none, got)
		}
	}
}

func TestPlainPip(t *testing.T) {
	dir := home(t, map[string]string{
		".config/pip/pip.conf": "[global]\nindex-url = https://ann:p%40ss@pypi.acme.example:8443/simple\nextra-index-url =\n  https://pypi.org/simple\n  https://tok:@b.example/\n",
		".pip/pip.conf":        "[global]\nindex-url = https://open.example/simple\n",
	})
	if got, want := PipSecrets(dir), []string{filepath.Join(dir, ".config/pip/pip.conf")}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	got := string(PlainPip(dir))
	if strings.Contains(got, "ann") || strings.Contains(got, "tok") || !strings.Contains(got, "index-url = https://pypi.acme.example:8443/simple\n") {
		t.Errorf("%q", got)
	}
}

func TestLogins(t *testing.T) {
	dir := home(t, map[string]string{
		".npmrc":        "//NPM.acme.example:4873/all/:_authToken=x\n//other.example/:username=ann\n//plain.example/:always-auth=true\n_authToken=y\n",
		".netrc":        "machine git.acme.example login ann password x\n",
		".pip/pip.conf": "[global]\nindex-url=http://ann:x@pypi.acme.example:80/simple\n",
	})
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
