// Package registries lists the public package registries and their hosts, and finds the private registries in
// the configuration of package managers.
//
//	registries.Hosts("@npm")  // "registry.npmjs.org", …
//	list := registries.Find(&registries.Locations{Home: home, Dir: project, Get: os.Getenv})
//	list[0].Host              // "npm.corp.example"; Name is "@npm", File "/home/ann/.npmrc"
//
// It only reads. The user decides whether commands may reach a registry: a project's files can come from
// anyone and allow nothing by themselves.
package registries

import (
	"maps"
	"slices"
)

// byName are the default hosts of package managers, by the name that stands for them in a list: "@npm".
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

// Names returns the names of all registries, sorted.
func Names() []string { return slices.Sorted(maps.Keys(byName)) }

// Hosts returns the hosts of a registry name such as "@npm", or nil.
func Hosts(name string) []string { return slices.Clone(byName[name]) }

// RegistryOf returns the name of the registry to which a host belongs, or "".
func RegistryOf(host string) string {
	for _, name := range Names() {
		if slices.Contains(byName[name], host) {
			return name
		}
	}
	return ""
}
