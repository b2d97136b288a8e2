package egress

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// registries are the hosts that package managers fetch from by default, by the name that stands for
// them in a list: "@npm".
var registries = map[string][]string{
	"@alpine":    {"dl-cdn.alpinelinux.org"},
	"@conda":     {"conda.anaconda.org", "repo.anaconda.com"},
	"@crates":    {"crates.io", "index.crates.io", "static.crates.io", "static.rust-lang.org"},
	"@debian":    {"deb.debian.org", "security.debian.org"},
	"@github":    {"github.com", "api.github.com", "codeload.github.com", "raw.githubusercontent.com", "objects.githubusercontent.com", "release-assets.githubusercontent.com"},
	"@gitlab":    {"gitlab.com"},
	"@go":        {"proxy.golang.org", "sum.golang.org"},
	"@hex":       {"hex.pm", "repo.hex.pm", "builds.hex.pm"},
	"@maven":     {"repo.maven.apache.org", "repo1.maven.org", "plugins.gradle.org", "plugins-artifacts.gradle.org", "services.gradle.org", "downloads.gradle.org"},
	"@npm":       {"registry.npmjs.org", "registry.yarnpkg.com", "nodejs.org"},
	"@nuget":     {"api.nuget.org"},
	"@packagist": {"packagist.org", "repo.packagist.org"},
	"@pypi":      {"pypi.org", "files.pythonhosted.org"},
	"@rubygems":  {"rubygems.org", "index.rubygems.org"},
	"@ubuntu":    {"archive.ubuntu.com", "security.ubuntu.com", "ports.ubuntu.com"},
}

// parseEntries reads an entry. One that names a registry stands for an entry for each of its hosts.
func parseEntries(text string) ([]entry, *entryError) {
	hosts, ok := registries[text]
	if !ok && strings.HasPrefix(text, "@") {
		names := slices.Sorted(maps.Keys(registries))
		return nil, &entryError{fmt.Sprintf("unknown package registry %q", text), "the registries are " + strings.Join(names, ", ")}
	}
	if !ok {
		e, wrong := parseEntry(text)
		return []entry{e}, wrong
	}
	var list []entry
	for _, host := range hosts {
		list = append(list, entry{text: text, kind: oneName, name: host})
	}
	return list, nil
}
