package registries

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func put(t *testing.T, parts ...string) {
	t.Helper()
	name, text := filepath.Join(parts[:len(parts)-1]...), parts[len(parts)-1]
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestFind(t *testing.T) {
	home, dir := t.TempDir(), t.TempDir()
	put(t, home, ".npmrc", "# registry=https://no.example/\n//npm.corp.example/:_authToken=secret\nregistry=https://npm.corp.example/\n@team:registry = https://team.example:4873/npm/\n")
	put(t, home, ".yarnrc.yml", "npmRegistryServer: \"https://npm.corp.example\"\n")
	put(t, home, ".config/pip/pip.conf", "[global]\nindex-url = https://ann:secret@pypi.corp.example/simple\nextra-index-url =\n    https://more.example/simple\n    https://pypi.org/simple\n")
	put(t, home, ".config/go/env", "GOFLAGS=-mod=mod\nGOPROXY=https://go.corp.example,https://proxy.golang.org|direct\n")
	put(t, home, ".m2/settings.xml", "<settings>\n<mirrors><mirror><url>\nhttps://Maven.corp.example/m2\n</url></mirror></mirrors>\n<url>file:///srv</url><url>https://${env.HOST}/x</url></settings>")
	put(t, home, ".cargo/config.toml", "[registries.corp]\nindex = \"sparse+https://crates.corp.example/index/\"\n[source.x]\nregistry = \"https://github.com/rust-lang/crates.io-index\"\n")
	put(t, dir, ".npmrc", "registry=https://planted.example/\n@x:registry=https://npm.corp.example/\n")
	put(t, dir, ".cargo/config.toml", "[source.crates-io]\nreplace-with = \"mine\"\n[source.mine]\nregistry = \"sparse+https://planted.example:8443/\"\n")
	var got []string
	for _, r := range Find(&Locations{Home: home, Dir: dir, Get: func(name string) string {
		return map[string]string{"GOPROXY": "https://env.example,off", "PIP_EXTRA_INDEX_URL": "https://env2.example/simple"}[name]
	}}) {
		got = append(got, fmt.Sprint(r.Name, " ", r.Host, " ", strings.NewReplacer(home, "~", dir, ".").Replace(r.Source()), " ", r.Project))
	}
	want := []string{
		"@npm npm.corp.example ~/.npmrc:3 false", "@npm team.example:4873 ~/.npmrc:4 false",
		"@pypi env2.example $PIP_EXTRA_INDEX_URL false", "@pypi pypi.corp.example ~/.config/pip/pip.conf:2 false", "@pypi more.example ~/.config/pip/pip.conf:4 false",
		"@go env.example $GOPROXY false", "@go go.corp.example ~/.config/go/env:2 false",
		"@maven maven.corp.example ~/.m2/settings.xml:3 false", "@crates crates.corp.example ~/.cargo/config.toml:2 false",
		"@npm planted.example ./.npmrc:1 true", "@crates planted.example:8443 ./.cargo/config.toml:4 true",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// What cannot be read, or is no configuration, names nothing.
func TestFindNothing(t *testing.T) {
	home := t.TempDir()
	put(t, home, ".npmrc", "registry=\nregistry=file:///x\nregistry=:::\nregistry=ftp://x.example/\n")
	put(t, home, ".m2/settings.xml", "<settings><url>https://")
	if err := os.MkdirAll(filepath.Join(home, ".cargo", "config.toml"), 0o700); err != nil {
		t.Fatal(err)
	}
	put(t, home, ".config/pip/pip.conf", strings.Repeat("index-url = https://big.example/\n", 1<<16))
	for _, p := range []*Locations{{}, {Home: home, Dir: home}} {
		if got := Find(p); len(got) > 0 {
			t.Errorf("%+v", got)
		}
	}
}

func TestNPM(t *testing.T) {
	for text, want := range map[string]string{
		"registry=https://npm.corp.example/x/\n":                         "https://npm.corp.example/x/",
		"registry=https://ann:secret@npm.corp.example\n//x:_authToken=k": "https://npm.corp.example",
		"@team:registry=https://team.example/\n;registry=https://x/":     "",
		"registry=https://a.example/\nregistry=https://b.example/":       "https://b.example/",
		"registry=${REGISTRY}\n":                                         "", "registry=file:///x": "", "": "",
	} {
		home := t.TempDir()
		put(t, home, ".npmrc", text)
		if got := NPM(home); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
	if got := NPM(t.TempDir()) + NPM(""); got != "" {
		t.Error(got)
	}
}
