package image

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
)

// The variants.
const (
	Scratch = "scratch" // our binary alone: no shell, no libraries, no certificates
	Debian  = "debian"  // a Debian, or another Linux, with our binary
)

// The names of images that are built without one.
const (
	Repository = "holdfast/workspace" // with the variant as its tag
	Latest     = Repository + ":latest"
)

// The places in an image.
const (
	Program = "/usr/local/bin/holdfast"
	Home    = "/home/agent"
	Work    = "/work"
)

// UID is the user and the group of a container that is started without any. A
// workspace's containers name theirs; every other number works as well.
const UID = 4711

// Spec says what is built. The zero value is a scratch image of the program that runs.
type Spec struct {
	Variant string `json:"variant,omitempty"` // [Scratch] or [Debian]; "" is Scratch
	// Tag is the image's name. "" is [Repository] with the variant; the image is then
	// named [Latest] as well, which is what workspaces use that name none.
	Tag string `json:"tag,omitempty"`
	// Binary is the path of a static holdfast for Linux and for the engine's processor;
	// "" is the program that runs.
	Binary string `json:"binary,omitempty"`
	// Base is an image that the engine has, for [Debian]. "" is one that debootstrap
	// makes, which needs root, Linux and a mirror of Debian; it is kept and taken again.
	Base string `json:"base,omitempty"`
	// Agents are agents for [Debian], "claude" and "codex", each with "@" and a version or
	// in the version that holdfast was tested with. Npm gets them, unless they are kept
	// from an earlier time.
	Agents []string `json:"with,omitempty"`
	// Certificates is a PEM file of certificate authorities to trust inside. "" is what
	// the base has, which is nothing in [Scratch].
	Certificates string `json:"certificates,omitempty"`
	// Suite and Mirror are debootstrap's: "" is bookworm, and the mirror that apt uses.
	Suite  string `json:"suite,omitempty"`
	Mirror string `json:"mirror,omitempty"`
	// NoCache builds anew what is there, the Debian too.
	NoCache bool `json:"fresh,omitempty"`
	// Folder is where a build has its lock and what it needs on the disk; "" is one in
	// the user's cache. It is made when it is not there.
	Folder string `json:"-"`
	// Packages is where the packages of npm are kept; "" is "packages" in Folder.
	Packages string `json:"-"`
}

// Progress is something that happens during a build.
type Progress struct {
	Stage string `json:"stage"`
	Text  string `json:"text,omitempty"`
	// Bytes have been sent so far, in [Send]; Total is 0 when it is not known.
	Bytes int64 `json:"bytes,omitempty"`
	Total int64 `json:"total,omitempty"`
}

// The stages of a build.
const (
	Wait    = "wait"    // for another build of the same name
	Base    = "base"    // debootstrap runs
	Package = "package" // npm gets a package
	Send    = "send"    // files go to the engine
	Make    = "make"    // the engine says something
	Done    = "done"    // the image has its names
)

// String is one line for people.
func (p Progress) String() string {
	out := p.Stage
	if p.Text != "" {
		out += ": " + p.Text
	}
	switch {
	case p.Total > 0:
		out += fmt.Sprintf(" %d of %d MB", p.Bytes/1e6, p.Total/1e6)
	case p.Bytes > 0:
		out += fmt.Sprintf(" %d MB", p.Bytes/1e6)
	}
	return out
}

// tags are the names that the image gets.
func (s *Spec) tags() []string {
	if s.Tag != "" {
		return []string{s.Tag}
	}
	return []string{Repository + ":" + s.Variant, Latest}
}

var (
	// tagPattern is stricter than engines are: host and port, folders, name, tag.
	tagPattern = lazyregexp.Must(`^([a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?/)?[a-z0-9]+([._/-]{1,2}[a-z0-9]+)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?\z`)
	// basePattern takes an id and a digest besides.
	basePattern  = lazyregexp.Must(`^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,300}\z`)
	suitePattern = lazyregexp.Must(`^[a-z][a-z0-9.-]{0,40}\z`)
	// A mirror goes to a script of shell.
	mirrorPattern = lazyregexp.Must(`^(https?://[A-Za-z0-9._~:/@%+-]+|file:///[A-Za-z0-9._~/%+-]+)\z`)
)

// complete checks the spec and fills in what is left out.
func (s Spec) complete() (Spec, error) {
	bad := func(format string, args ...any) error {
		return &Error{Op: "build image", Name: s.Tag, Err: ErrInvalid, Detail: fmt.Sprintf(format, args...)}
	}
	switch s.Variant {
	case "":
		s.Variant = Scratch
	case Scratch, Debian:
	default:
		return s, bad("there is no variant %q: the variants are scratch and debian", s.Variant)
	}
	switch {
	case s.Tag != "" && !tagPattern().MatchString(s.Tag):
		return s, bad("%q is no name for an image, such as my/workspace:1", s.Tag)
	case s.Variant == Scratch && s.Base != "":
		return s, bad("the scratch variant has no base: did you mean the debian variant?")
	case s.Variant == Scratch && len(s.Agents) > 0:
		return s, bad("agents need a system around them: use the debian variant")
	case s.Variant == Scratch && (s.Suite != "" || s.Mirror != ""):
		return s, bad("a suite and a mirror are for the debian variant")
	case s.Base != "" && (s.Suite != "" || s.Mirror != ""):
		return s, bad("a suite and a mirror are for debootstrap: name them or a base")
	case s.Base != "" && !basePattern().MatchString(s.Base):
		return s, bad("%q is no name of an image", s.Base)
	case s.Suite != "" && !suitePattern().MatchString(s.Suite):
		return s, bad("%q is no suite of Debian, such as bookworm", s.Suite)
	case s.Mirror != "" && !mirrorPattern().MatchString(s.Mirror):
		return s, bad("the mirror is no address of Debian packages, such as http://deb.debian.org/debian")
	}
	if s.Tag != "" && !strings.Contains(s.Tag[strings.LastIndexByte(s.Tag, '/')+1:], ":") {
		s.Tag += ":latest"
	}
	if s.Suite == "" {
		s.Suite = "bookworm"
	}
	s.Agents = slices.Clone(s.Agents)
	return s, s.folders()
}

// folders makes the folder of builds, for this user alone.
func (s *Spec) folders() error {
	if s.Folder == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return &Error{Op: "build image", Err: ErrInvalid, Detail: err.Error(), Advice: "set HOME"}
		}
		s.Folder = filepath.Join(cache, "holdfast", "images")
	}
	if s.Packages == "" {
		s.Packages = filepath.Join(s.Folder, "packages")
	}
	for _, f := range []*string{&s.Folder, &s.Packages} {
		abs, err := filepath.Abs(*f)
		if err == nil {
			err = os.MkdirAll(abs, 0o700)
		}
		if err != nil {
			return &Error{Op: "build image", Err: err}
		}
		*f = abs
	}
	return nil
}
