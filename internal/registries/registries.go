// Package registries names the package registries that programs fetch from, and their hosts, and finds the private
// ones that the configuration of package managers names.
//
//	registries.Hosts("@npm")  // "registry.npmjs.org", …
//	list := registries.Find(&registries.Places{Home: home, Dir: project, Get: os.Getenv})
//	list[0].Host              // "npm.corp.example"; Name is "@npm", File "/home/ann/.npmrc"
//
// It only reads. Whether commands may reach a registry is for the person to say: a project's files, which
// anybody may have written, open nothing by being there.
package registries

import (
	"maps"
	"slices"
)

// byName are the hosts that package managers fetch from by default, by the name that stands for
// them in a list: "@npm".
var byName = map[string][]string{
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

// Names are the names of all registries, sorted.
func Names() []string { return slices.Sorted(maps.Keys(byName)) }

// Hosts are the hosts that a name such as "@npm" stands for, or nil.
func Hosts(name string) []string { return slices.Clone(byName[name]) }

// RegistryOf is the name of the registry that a host belongs to, or "".
func RegistryOf(host string) string {
	for _, name := range Names() {
		if slices.Contains(byName[name], host) {
			return name
		}
	}
	return ""
}
