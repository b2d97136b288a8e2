package registries

import (
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// safeKeys are the settings of npm, pnpm and Yarn that contain no secret and name no program. Commands see
// only these of the user's .npmrc: any other key may be a password.
var safeKeys = []string{
	"registry", "strict-ssl", "cafile", "ca", "audit", "audit-level", "fund", "update-notifier", "progress", "loglevel", "color",
	"save", "save-exact", "save-prefix", "save-dev", "package-lock", "lockfile-version", "omit", "include", "optional", "production",
	"legacy-peer-deps", "strict-peer-deps", "strict-peer-dependencies", "auto-install-peers", "engine-strict", "ignore-scripts", "before", "min-release-age",
	"minimum-release-age", "prefer-offline", "prefer-online", "prefer-dedupe", "install-strategy", "install-links", "maxsockets", "network-concurrency",
	"fetch-retries", "fetch-retry-factor", "fetch-retry-mintimeout", "fetch-retry-maxtimeout", "fetch-timeout", "node-linker", "hoist", "shamefully-hoist",
	"hoist-pattern[]", "public-hoist-pattern[]", "replace-registry-host", "resolution-mode", "side-effects-cache", "init-license", "init-version", "tag",
}

var scoped = lazyregexp.Must(`^@[A-Za-z0-9._~-]+:registry$`)

// entries returns the keys and values of a .npmrc.
func entries(home string) (list [][2]string, ok bool) {
	file := filepath.Join(home, ".npmrc")
	info, err := os.Stat(file)
	if home == "" || err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, false
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, false
	}
	for l := range strings.Lines(string(b)) {
		if l = strings.TrimSpace(l); l == "" || strings.ContainsAny(l[:1], "#;[") {
			continue
		}
		key, value, found := strings.Cut(l, "=")
		if !found {
			value = "true"
		}
		list = append(list, [2]string{strings.TrimSpace(key), strings.TrimSpace(value)})
	}
	return list, true
}

// RedactedNPM returns the .npmrc of a home folder without possible secrets: only the registries of scopes,
// and settings that are known to contain none. It is nil if there is no file, or nothing is left of it.
func RedactedNPM(home string) []byte {
	list, _ := entries(home)
	var out []byte
	for _, e := range list {
		key, value := e[0], e[1]
		registry := key == "registry" || scoped().MatchString(key)
		switch {
		case !registry && !slices.Contains(safeKeys, key), strings.Contains(value, "${"):
			continue // a variable may be a secret, too
		case registry:
			if value = withoutUser(strings.Trim(value, `"'`)); value == "" {
				continue
			}
		case strings.Contains(value, "://"):
			continue
		}
		out = append(out, key+"="+value+"\n"...)
	}
	return out
}

// withoutUser returns a URL without user and password; "" if it is not an http or https URL.
func withoutUser(address string) string {
	if host(address) == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery, u.Fragment = nil, "", ""
	return u.String()
}
