// Package version says which build this is.
//
//	constants, linker ──Of──► Doc ──► "holdfast 0.1.0 (5f3c…) go1.26.1 linux/amd64", or JSON
//
//	text, ok := version.Answer(os.Args[1:])
//
// It imports little, so that package early can answer before the libraries of
// the program have started.
package version

import (
	"runtime"
	"strconv"
)

// Release is the version: of the release, or of the next one with "-dev".
const Release = "0.1.0-dev"

// SessionFormat is the newest record format that this build reads and writes. A
// test of package cli holds it to session.FormatVersion.
const SessionFormat = 1

// Doc is what `holdfast version --json` prints.
type Doc struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Format   int    `json:"session_format"`
}

// revision is the commit, set by the linker:
//
//	go build -ldflags "-X github.com/holdfast-dev/holdfast/internal/version.revision=$(git rev-parse --short=12 HEAD)" ./cmd/holdfast
var revision string

// Of describes the running build. It does not ask runtime/debug, which would
// make package early late.
func Of() Doc {
	return Doc{Version: Release, Revision: revision, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Format: SessionFormat}
}

// String is the one line that `holdfast version` prints, without its newline.
func (d Doc) String() string {
	s := "holdfast " + d.Version
	if d.Revision != "" {
		s += " (" + d.Revision + ")"
	}
	return s + " " + d.Go + " " + d.OS + "/" + d.Arch
}

// JSON writes the document by hand, for the sake of what encoding/json imports.
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

// Answer is what a command line gets that asks for the version and for nothing
// else: version, version --json, --version.
func Answer(args []string) (text string, ok bool) {
	switch {
	case len(args) == 1 && (args[0] == "version" || args[0] == "--version"):
		return Of().String() + "\n", true
	case len(args) == 2 && args[0] == "version" && args[1] == "--json":
		return Of().JSON() + "\n", true
	}
	return "", false
}
