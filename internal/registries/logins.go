package registries

import (
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// PipFiles are the configuration files of pip below a home folder.
var PipFiles = []string{".config/pip/pip.conf", ".pip/pip.conf"}

// urlLogin matches a user, with or without a password, in a URL.
var urlLogin = lazyregexp.Must(`(?i)(https?://)[^/@\s"']+@([^/:\s"']+)`)

// PipSecrets returns the files of pip below a home folder that contain a login in a URL.
func PipSecrets(home string) (list []string) {
	for _, name := range PipFiles {
		if file := filepath.Join(home, name); home != "" && urlLogin().MatchString(text(file)) {
			list = append(list, file)
		}
	}
	return list
}

// RedactedPip returns the content of pip's files without the logins in their URLs; nil if they contain none.
func RedactedPip(home string) []byte {
	var out []byte
	for _, file := range PipSecrets(home) {
		out = append(out, urlLogin().ReplaceAllString(text(file), "$1$2")+"\n"...)
	}
	return out
}

// Login is a file of the user that contains a name and a password, or a token, for a host.
type Login struct{ Host, File string }

// byHost matches an entry of a .npmrc for one registry: //npm.example.com/path/:_authToken.
var byHost = lazyregexp.Must(`^//([^/:]+)(?::\d+)?(?:/.*)?:(?:_\w+|username)$`)

// Logins returns the logins that package managers use: in .npmrc, in .netrc and in the URLs of pip's files.
func Logins(home string) (list []Login) {
	if home == "" {
		return nil
	}
	add := func(host, file string) {
		if l := (Login{strings.ToLower(host), file}); !slices.Contains(list, l) {
			list = append(list, l)
		}
	}
	npmrc, _ := entries(home)
	for _, e := range npmrc {
		if m := byHost().FindStringSubmatch(e[0]); m != nil {
			add(m[1], filepath.Join(home, ".npmrc"))
		}
	}
	netrc := filepath.Join(home, ".netrc")
	words := strings.Fields(text(netrc))
	for i, w := range words {
		if w == "machine" && i+1 < len(words) {
			add(words[i+1], netrc)
		}
	}
	for _, file := range PipSecrets(home) {
		for _, m := range urlLogin().FindAllStringSubmatch(text(file), -1) {
			add(m[2], file)
		}
	}
	return list
}

// text returns the content of a small file; "" if it cannot be read.
func text(file string) string {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return ""
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return string(b)
}
