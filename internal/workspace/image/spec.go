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
	Scratch = "scratch" // only holdfast: no shell, no libraries, no certificates
	Debian  = "debian"  // a Debian or another Linux, with holdfast
)

// The default names of images.
const (
	Repository = "holdfast/workspace" // the tag is the name of the variant
	Latest     = Repository + ":latest"
)

// These are paths in an image.
const (
	Program = "/usr/local/bin/holdfast"
	Home    = "/home/agent"
	Work    = "/work"
)

// UID is the default user and group of a container. The containers of a workspace use the caller's user and group;
// any other number works, too.
const UID = 4711

// Spec describes an image to build. The zero value is a scratch image of the running program.
type Spec struct {
	Variant string `json:"variant,omitempty"` // [Scratch] or [Debian]; "" is Scratch
	// Tag is the image's name. "" is [Repository] with the variant as tag; the image then also gets the name
	// [Latest], which is the default of workspaces.
	Tag string `json:"tag,omitempty"`
	// Binary is the path of a static holdfast for Linux and the engine's processor; "" is the running program.
	Binary string `json:"binary,omitempty"`
	// Base is an image that the engine has, for [Debian]. "" is one built by debootstrap, which
	// needs root, Linux and a Debian mirror; it is kept and reused.
	Base string `json:"base,omitempty"`
	// Agents are agents for [Debian], "claude" and "codex", each with an optional "@" and version;
	// the default is the version that holdfast was tested with. npm downloads the packages that are
	// not cached.
	Agents []string `json:"with,omitempty"`
	// Certificates is the path of a PEM file with trusted certificate authorities. "" keeps those
	// of the base; a [Scratch] image then has none.
	Certificates string `json:"certificates,omitempty"`
	// Suite and Mirror are used by debootstrap. The defaults are bookworm and the mirror that apt
	// uses.
	Suite  string `json:"suite,omitempty"`
	Mirror string `json:"mirror,omitempty"`
	// NoCache also rebuilds images that exist, including the Debian base.
	NoCache bool `json:"fresh,omitempty"`
	// Folder has the lock and the temporary files of builds; "" is a folder in the user's cache. It
	// is created if missing.
	Folder string `json:"-"`
	// Packages is the folder of cached npm packages; "" is "packages" in Folder.
	Packages string `json:"-"`
}

// Progress is a step of a build.
type Progress struct {
	Stage string `json:"stage"`
	Text  string `json:"text,omitempty"`
	// Bytes is the number of bytes sent so far, in [Send]; Total is 0 if unknown.
	Bytes int64 `json:"bytes,omitempty"`
	Total int64 `json:"total,omitempty"`
}

// The stages of a build.
const (
	Wait    = "wait"    // another build of the same name must end first
	Base    = "base"    // debootstrap is running
	Package = "package" // npm is downloading a package
	Send    = "send"    // files are being sent to the engine
	Make    = "make"    // a message of the engine
	Done    = "done"    // the image has all its names
)

// String returns one line for users.
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

// tags returns the names that the image gets.
func (s *Spec) tags() []string {
	if s.Tag != "" {
		return []string{s.Tag}
	}
	return []string{Repository + ":" + s.Variant, Latest}
}

var (
	// tagPattern accepts less than engines do: host and port, folders, name, tag.
	tagPattern = lazyregexp.Must(`^([a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?/)?[a-z0-9]+([._/-]{1,2}[a-z0-9]+)*(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?\z`)
	// basePattern also allows an id and a digest.
	basePattern  = lazyregexp.Must(`^[A-Za-z0-9][A-Za-z0-9._/:@-]{0,300}\z`)
	suitePattern = lazyregexp.Must(`^[a-z][a-z0-9.-]{0,40}\z`)
	// The mirror is passed to a shell script.
	mirrorPattern = lazyregexp.Must(`^(https?://[A-Za-z0-9._~:/@%+-]+|file:///[A-Za-z0-9._~/%+-]+)\z`)
)

// complete checks the spec and fills in defaults.
func (s Spec) complete() (Spec, error) {
	bad := func(format string, args ...any) error {
		return &Error{Op: "build image", Name: s.Tag, Err: ErrInvalid, Detail: fmt.Sprintf(format, args...)}
	}
	switch s.Variant {
	case "":
		s.Variant = Scratch
	case Scratch, Debian:
	default:
		return s, bad("unknown variant %q: use scratch or debian", s.Variant)
	}
	switch {
	case s.Tag != "" && !tagPattern().MatchString(s.Tag):
		return s, bad("%q is not an image name such as my/workspace:1", s.Tag)
	case s.Variant == Scratch && s.Base != "":
		return s, bad("the scratch variant has no base; use the debian variant")
	case s.Variant == Scratch && len(s.Agents) > 0:
		return s, bad("agents need a base system: use the debian variant")
	case s.Variant == Scratch && (s.Suite != "" || s.Mirror != ""):
		return s, bad("a suite and a mirror apply only to the debian variant")
	case s.Base != "" && (s.Suite != "" || s.Mirror != ""):
		return s, bad("a suite and a mirror apply only to debootstrap: set them or a base, not both")
	case s.Base != "" && !basePattern().MatchString(s.Base):
		return s, bad("%q is not an image name", s.Base)
	case s.Suite != "" && !suitePattern().MatchString(s.Suite):
		return s, bad("%q is not a Debian suite such as bookworm", s.Suite)
	case s.Mirror != "" && !mirrorPattern().MatchString(s.Mirror):
		return s, bad("the mirror is not a Debian package address such as http://deb.debian.org/debian")
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

// folders creates the folder of builds, for this user only.
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
