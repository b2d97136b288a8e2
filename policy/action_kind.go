package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// environment contains the folders of the session and the home folder, and resolves links. It
// determines whether a request takes effect inside the session's folders.
type environment struct {
	folders []string // the folders of the session; if empty, every path is inside
	home    string
	resolve func(string) string
}

func (w *environment) viewOf(r Request) *requestView { return newRequestView(r, w.home, w.resolve) }

// cwd is the folder in which the session was started, or "" if it is not known.
func (w *environment) cwd() string {
	if len(w.folders) == 0 {
		return ""
	}
	return w.folders[0]
}

// kindReason is the kind of a request with the reason for it, for display.
type kindReason struct {
	kind actionKind
	why  string
}

// kind classifies a request.
func (w *environment) kind(s *requestView) kindReason {
	if s.Opens() {
		return kindReason{kindReach, ""}
	}
	switch s.Operation {
	case OpCommand:
		return w.commandKind(s)
	case OpExec:
		if s.reading != nil {
			if k := w.commandKind(s); k.kind != kindSafe && k.kind != kindReadOutside {
				return k
			}
		}
		return kindReason{kindCommand, ""}
	case OpSecret:
		return kindReason{kindSecret, ""}
	case OpWrite:
		if out := w.firstOutside(s, shellparse.Write); out != "" {
			return kindReason{kindEditOutside, out}
		}
		return kindReason{kindEdit, ""}
	case OpRead:
		return w.readKind(s)
	case OpConnect:
		if s.Confined {
			return kindReason{kindReach, ""}
		}
		if s.ReadOnly {
			return kindReason{kindFetch, ""}
		}
		return kindReason{kindNetwork, ""}
	}
	switch {
	case s.ReadOnly:
		return kindReason{kindRead, ""}
	case s.Operation == OpMCP:
		return kindReason{kindMCP, ""}
	}
	return kindReason{kindOther, ""}
}

func (w *environment) readKind(s *requestView) kindReason {
	if s.Resource == "" && s.ReadOnly && len(w.folders) == 0 {
		return kindReason{kindRead, ""}
	}
	if p := secretPath(s); p != "" {
		return kindReason{kindSecret, p}
	}
	if out := w.firstOutside(s, shellparse.Read); out != "" {
		return kindReason{kindReadOutside, out}
	}
	return kindReason{kindRead, ""}
}

func (w *environment) commandKind(s *requestView) kindReason {
	if d := loadDangers().find(w, s); d != nil {
		return kindReason{kindDangerous, d.Why}
	}
	if p := secretPath(s); p != "" {
		return kindReason{kindSecret, p}
	}
	switch {
	case !s.reading.Static():
		return kindReason{kindUnclear, s.reading.Unclear[0]}
	case w.writesAnywhere(s):
		return kindReason{kindUnclear, "its writes cannot be determined"}
	case !s.reading.Safe():
		return kindReason{kindCommand, ""}
	}
	if out := w.firstOutside(s, shellparse.Read|shellparse.Write|shellparse.Exec); out != "" {
		return kindReason{kindReadOutside, out}
	}
	for i := range s.reading.Commands {
		if dir := s.reading.Commands[i].Dir; !w.inside(w.resolveLinks(dir)) {
			return kindReason{kindReadOutside, "in " + pathText(dir)}
		}
	}
	return kindReason{kindSafe, ""}
}

// writesAnywhere reports whether the request certainly writes a path that cannot be determined.
func (w *environment) writesAnywhere(s *requestView) bool {
	return len(w.folders) > 0 && slices.ContainsFunc(s.paths, func(p requestPath) bool { return p.path == "" && p.isWritten() })
}

// firstOutside returns the first path outside the session's folders that the request would access
// in one of the given ways, or "" if there is none.
func (w *environment) firstOutside(s *requestView, access shellparse.Access) string {
	if len(w.folders) == 0 {
		return ""
	}
	for i := range s.paths {
		if p := &s.paths[i]; p.access&access != 0 && !isHarmlessDevice(p.path) && !w.contains(p) {
			return pathText(p.path)
		}
	}
	return ""
}

// contains reports whether a path is inside. Both the path as named and the path with its links
// resolved must be inside.
func (w *environment) contains(p *requestPath) bool { return w.inside(p.path) && w.inside(p.real) }

// inside reports whether a path is in one of the session's folders. An unknown path is not inside.
func (w *environment) inside(p string) bool {
	if len(w.folders) == 0 {
		return true
	}
	return p != "" && slices.ContainsFunc(w.folders, func(f string) bool { return inside(f, p) })
}

func (w *environment) resolveLinks(p string) string { return resolved(p, w.resolve) }

func pathText(p string) string {
	if p == "" {
		return "a path that cannot be determined"
	}
	return p
}

// isHarmlessDevice reports whether a path is a device that every program may use, such as
// /dev/null.
func isHarmlessDevice(p string) bool {
	if !strings.HasPrefix(p, "/dev/") {
		return false
	}
	switch p[len("/dev/"):] {
	case "null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr", "tty":
		return true
	}
	return strings.HasPrefix(p, "/dev/fd/")
}

// secretPath returns the first path on the list of secrets that the request would read, or "" if
// there is none.
func secretPath(s *requestView) string {
	secrets := &loadProtected().secrets
	for i := range s.paths {
		p := &s.paths[i]
		if p.access&shellparse.Read != 0 && (secrets.has(p.path) || p.real != p.path && secrets.has(p.real)) {
			return p.path
		}
		if p.access&shellparse.Read != 0 && p.pattern != "" && secrets.aimsAt(p.pattern) {
			return p.pattern
		}
	}
	return ""
}

// touchesProtected returns the first protected path that the request would certainly write. A word
// in the arguments of an unknown program that only looks like a path is ignored.
func (s *requestView) touchesProtected() (string, bool) {
	for i := range s.paths {
		if p := &s.paths[i]; p.isWritten() && p.isProtected() {
			return p.path, true
		}
	}
	return "", false
}

func (p *requestPath) isWritten() bool {
	return p.access&shellparse.Write != 0 && p.from != shellparse.FromSyntax && p.from != shellparse.FromGuess
}

func (p *requestPath) isProtected() bool {
	writes := &loadProtected().writes
	return writes.has(p.path) || p.real != p.path && writes.has(p.real)
}

// isInClasses reports whether the path would be written and belongs to one of the classes in
// [dangerEntry.Paths].
func (w *environment) isInClasses(p *requestPath, classes []string) bool {
	if !p.isWritten() {
		return false
	}
	for _, class := range classes {
		switch class {
		case "unknown":
			if p.path == "" {
				return true
			}
		case "outside":
			if len(w.folders) > 0 && p.path != "" && !isHarmlessDevice(p.path) && !w.contains(p) {
				return true
			}
		case "protected":
			if p.isProtected() {
				return true
			}
		case "device":
			if (strings.HasPrefix(p.path, "/dev/") || strings.HasPrefix(p.real, "/dev/")) && !isHarmlessDevice(p.path) && !strings.HasPrefix(p.path, "/dev/shm/") {
				return true
			}
		case "above":
			if p.tree && (w.isBroad(p.path) || w.isBroad(p.real)) {
				return true
			}
		case "critical":
			if p.tree && (w.isBroad(p.path) || w.isBroad(p.real) || slices.Contains(w.folders, p.real) && !p.isPartial()) {
				return true
			}
		}
	}
	return false
}

// isPartial reports whether the path is a pattern such as "*.o", which selects some files of a
// folder but not all.
func (p *requestPath) isPartial() bool {
	last := p.arg[strings.LastIndexByte(p.arg, '/')+1:]
	return strings.ContainsAny(last, "*?[") && strings.Trim(last, "*.") != ""
}

// isBroad reports whether a folder is larger than the project. Such a folder is the root or a
// folder directly in it, the home folder, or a parent of the home folder or of a session folder.
// The root, its folders and the home folder are not broad if they are session folders themselves.
func (w *environment) isBroad(p string) bool {
	switch {
	case p == "":
		return false
	case p == "/" || path.Dir(p) == "/":
		return !slices.Contains(w.folders, p)
	case w.home != "" && inside(p, w.home):
		return !slices.Contains(w.folders, p)
	}
	return slices.ContainsFunc(w.folders, func(f string) bool { return f != p && inside(p, f) })
}
