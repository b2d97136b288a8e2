package policy

import (
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/protectedpaths"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// protectedName is the name of [protectLimit] in chains.
const protectedName = "protected-paths"

// namedPaths is a list of paths, described by the names of their parts.
type namedPaths struct {
	exact   map[string]bool // file names
	pattern []string        // patterns of file names
	folders map[string]bool // folder names: ".git"
	pairs   map[string]bool // folders by two name parts: ".config/git"
	except  map[string]bool // folders by two name parts whose contents are excluded
	not     []string        // patterns of file names that are excluded
}

type protectedLists struct{ writes, secrets namedPaths }

var loadProtected = sync.OnceValue(func() *protectedLists {
	return &protectedLists{writes: newNamedPaths(protectedpaths.Protected()), secrets: newNamedPaths(protectedpaths.Secrets())}
})

func newNamedPaths(names protectedpaths.Names) namedPaths {
	n := namedPaths{exact: map[string]bool{}, folders: map[string]bool{}, pairs: map[string]bool{}, except: map[string]bool{}, not: names.Exceptions}
	for _, f := range names.Files {
		if isPattern(f) {
			n.pattern = append(n.pattern, f)
		} else {
			n.exact[f] = true
		}
	}
	for _, f := range names.Folders {
		if strings.Contains(f, "/") {
			n.pairs[f] = true
		} else {
			n.folders[f] = true
		}
	}
	for _, f := range names.Excluded {
		n.except[f] = true
	}
	return n
}

// has reports whether a clean absolute path is on the list. It ignores case, because some file
// systems do: ".GIT" is ".git".
func (n *namedPaths) has(path string) bool {
	path = strings.ToLower(path)
	for rest := path; rest != ""; {
		rest = strings.TrimPrefix(rest, "/")
		part, tail, more := strings.Cut(rest, "/")
		if n.folders[part] || more && n.pairs[part+"/"+firstPart(tail)] {
			if !more || !n.except[part+"/"+firstPart(tail)] {
				return true
			}
		}
		if !more {
			return n.file(part)
		}
		rest = tail
	}
	return false
}

func (n *namedPaths) file(name string) bool {
	if !n.exact[name] && !matchAny(n.pattern, name) {
		return false
	}
	return !matchAny(n.not, name)
}

func firstPart(path string) string {
	part, _, _ := strings.Cut(path, "/")
	return part
}

// WritesProtected reports whether a write changes a file that controls other programs, such as a
// shell's startup file. Such writes need approval in every mode except bypassPermissions.
func (r Request) WritesProtected() bool {
	var w environment
	_, ok := w.viewOf(r).touchesProtected()
	return ok
}

// ReadsSecret reports whether the resource of a request is on the list of secrets. The resource is
// an absolute, clean path. Reading such a file has the kind "read of a secret"
// (docs/reference/permissions.md).
func (r *Request) ReadsSecret() bool { return isSecret(r.Resource) }

func isSecret(path string) bool { return loadProtected().secrets.has(path) }

// protectLimit is a limit that asks before a tool or a command writes a file that controls other
// programs: files below .git and .vscode, shell startup files, .npmrc, agents' settings.
// internal/protectedpaths has the list. It asks in every mode except bypassPermissions, even if an
// allow rule or the mode would allow the edit. Only the user, or a grant of the run, can allow the
// edit. [New] adds the limit to every chain. The parameter also is [Config].Protected.
func protectLimit(also ...string) NamedPolicy {
	return NamedPolicy{Name: protectedName, Policy: protectedPaths{slices.Clone(also)}}
}

type protectedPaths struct{ also []string }

// Evaluate either asks or has no opinion.
func (p protectedPaths) Evaluate(r Request) Verdict {
	var w environment
	return p.judge(w.viewOf(r))
}

func (p protectedPaths) judge(s *requestView) Verdict {
	if s.Mode == ModeBypass {
		return Verdict{}
	}
	if path, ok := s.touchesProtected(); ok {
		return Verdict{Effect: Ask, Reason: path + " controls other programs, so editing it always needs approval"}
	}
	if what, ok := s.removesCritical(); ok {
		return Verdict{Effect: Ask, Reason: "it removes " + what + " with everything below it, which always needs approval"}
	}
	for i := range s.paths {
		if place := &s.paths[i]; place.isWritten() && slices.ContainsFunc(p.also, place.reaches) {
			return Verdict{Effect: Ask, Reason: place.path + " controls this program, so editing it always needs approval"}
		}
	}
	return Verdict{}
}

// removesCritical finds a tree that rm would remove and whose removal always needs approval. Such
// trees are the root and the folders directly in it, the home folder, the command's working folder,
// the parents of these folders, and paths that cannot be determined.
func (s *requestView) removesCritical() (what string, ok bool) {
	for i := range s.paths {
		p := &s.paths[i]
		if p.command < 0 || !p.tree || !p.isWritten() || s.reading.Commands[p.command].Name != "rm" {
			continue
		}
		if p.path == "" {
			return p.arg, true
		}
		for _, at := range [...]string{p.path, p.real} {
			if path.Dir(at) == "/" || s.Cwd != "" && inside(at, s.Cwd) || s.read.Home != "" && inside(at, s.read.Home) {
				return at, true
			}
		}
	}
	return "", false
}

// reaches reports whether a file or folder is the path, contains the path, or is in a tree that the
// request changes or moves as a whole.
func (p *requestPath) reaches(file string) bool {
	const moved = shellparse.Read | shellparse.Write
	whole := p.tree || p.access&moved == moved
	for _, at := range [...]string{p.path, p.real} {
		if at != "" && (inside(file, at) || whole && inside(at, file)) {
			return true
		}
	}
	return false
}
