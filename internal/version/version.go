// Package version identifies the running build.
//
//	linker, file names ──Current──► Doc ──► "holdfast 0.9.0 (5f3c…) go1.26.1 linux/amd64", or JSON
//
//	text, ok := version.PrintEarly(os.Args[1:])
//
// It imports few packages, so that package early can answer before the program's libraries have
// started. It does not compare versions.
package version

import (
	"runtime"
	"strconv"
)

// next is the version of the next release. Builds of a checkout add "-dev" to it.
const next = "0.1.0"

// Set by the linker, in releases and by make build:
//
//	go build -ldflags "-X github.com/holdfast-dev/holdfast/internal/version.release=0.9.0" ./cmd/holdfast
var (
	release  string // without v
	revision string // the commit
)

// SessionFormat is the newest record format that this build reads and writes. A test of package cli
// compares it with session.FormatVersion.
const SessionFormat = 1

// Doc is the output of `holdfast version --json`.
type Doc struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Format   int    `json:"session_format"`
}

// Current describes the running build.
func Current() Doc {
	d := Doc{Version: release, Revision: revision, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Format: SessionFormat}
	if d.Version == "" {
		_, file, _, _ := runtime.Caller(0)
		number, commit := fromFile(file)
		d.Version = number
		if d.Revision == "" {
			d.Revision = commit
		}
	}
	return d
}

// fromFile returns the version of the module whose source file the compiler read, and the commit, if the version
// names one. The go command compiles modules in folders whose names end with their version, and keeps that part
// with -trimpath:
//
//	/go/pkg/mod/github.com/holdfast-dev/holdfast@v0.9.0/internal/version/version.go
//
// The build information contains the version, too, but reading it needs package runtime/debug and
// 150 packages that are initialized first. Package strings would need 70.
func fromFile(file string) (number, commit string) {
	at := len(file) - len("/internal/version/version.go")
	if at < 0 {
		return next + "-dev", ""
	}
	_, module := cut(file[:at], '/')
	if name, v := cut(module, '@'); len(name) < len(module) && len(v) > 1 && v[0] == 'v' {
		number = v[1:]
	}
	// The version of a commit without a tag ends with its time and 12 digits of its hash.
	switch rest, hash := cut(number, '-'); {
	case number == "":
		return next + "-dev", ""
	case len(hash) == 12 && digits(hash, true) && len(rest) > 15 && digits(rest[len(rest)-14:], false):
		return next + "-dev", hash
	}
	return number, ""
}

// cut splits s at the last sep, if there is one.
func cut(s string, sep byte) (before, after string) {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] == sep {
			return s[:i], s[i+1:]
		}
	}
	return s, s
}

// digits reports whether s contains only digits.
func digits(s string, hex bool) bool {
	for _, c := range []byte(s) {
		if (c < '0' || c > '9') && (!hex || c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}

// String returns the line that `holdfast version` prints, without its newline.
func (d Doc) String() string {
	s := "holdfast " + d.Version
	if d.Revision != "" {
		s += " (" + d.Revision + ")"
	}
	return s + " " + d.Go + " " + d.OS + "/" + d.Arch
}

// JSON encodes the document by hand, to avoid the packages that encoding/json imports.
func (d Doc) JSON() string {
	b := []byte("{")
	add := func(name, value string) {
		if len(b) > 1 {
			b = append(b, ',')
		}
		b = strconv.AppendQuoteToASCII(b, name)
		b = append(append(b, ':'), value...)
	}
	text := func(name, value string) { add(name, strconv.QuoteToASCII(value)) }
	text("version", d.Version)
	if d.Revision != "" {
		text("revision", d.Revision)
	}
	text("go", d.Go)
	text("os", d.OS)
	text("arch", d.Arch)
	add("session_format", strconv.Itoa(d.Format))
	return string(append(b, '}'))
}

// PrintEarly returns the answer to a command line that asks only for the version: version, version
// --json or --version.
func PrintEarly(args []string) (text string, ok bool) {
	switch {
	case len(args) == 1 && (args[0] == "version" || args[0] == "--version"):
		return Current().String() + "\n", true
	case len(args) == 2 && args[0] == "version" && args[1] == "--json":
		return Current().JSON() + "\n", true
	}
	return "", false
}
