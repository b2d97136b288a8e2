package registries

import (
	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// PipFiles are the files of pip below a home.
var PipFiles = []string{".config/pip/pip.conf", ".pip/pip.conf"}

// urlLogin is a user, with or without a password, in an address of the web.
var urlLogin = lazyregexp.Must(`(?i)(https?://)[^/@\s"']+@([^/:\s"']+)`)

// PipSecrets are the files of pip below a home that have a login in an address.
func PipSecrets(home string) (list []string) {
	for _, name := range PipFiles {
		if file := filepath.Join(home, name); home != "" && urlLogin().MatchString(text(file)) {
			list = append(list, file)
		}
	}
	return list
}

// RedactedPip is what the files of pip say, without the logins in their addresses; nil if they have none.
func RedactedPip(home string) []byte {
	var out []byte
	for _, file := range PipSecrets(home) {
		out = append(out, urlLogin().ReplaceAllString(text(file), "$1$2")+"\n"...)
	}
	return out
}

// A Login is a file of the person's that has a name and a password, or a token, for a host.
type Login struct{ Host, File string }

// byHost is what a .npmrc says of one registry: //npm.example.com/path/:_authToken.
var byHost = lazyregexp.Must(`^//([^/:]+)(?::\d+)?(?:/.*)?:(?:_\w+|username)$`)

// Logins finds the logins that package managers use: in .npmrc, in .netrc and in the addresses of pip's files.
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

// text is what a small file says; "" where it cannot be read.
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
