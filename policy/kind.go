package policy

import (
	"path"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shellread"
)

// world is what is known about where requests would take effect.
type world struct {
	folders []string // of the session; none: every path counts as inside
	home    string
	resolve func(string) string
}

func (w *world) subject(r Request) *subject { return newSubject(r, w.home, w.resolve) }

// cwd is the folder that the session was started in; "" when it is not known.
func (w *world) cwd() string {
	if len(w.folders) == 0 {
		return ""
	}
	return w.folders[0]
}

// sort is a request's kind with what it was told by, for people.
type sort struct {
	kind actionKind
	why  string
}

// kind says what sort of thing a request would do.
func (w *world) kind(s *subject) sort {
	if s.Opens() {
		return sort{kindReach, ""}
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
		return sort{kindCommand, ""}
	case OpSecret:
		return sort{kindSecret, ""}
	case OpWrite:
		if out := w.outside(s, shellread.Write); out != "" {
			return sort{kindEditOutside, out}
		}
		return sort{kindEdit, ""}
	case OpRead:
		return w.readKind(s)
	case OpConnect:
		if s.Confined {
			return sort{kindReach, ""}
		}
		if s.ReadOnly {
			return sort{kindFetch, ""}
		}
		return sort{kindNetwork, ""}
	}
	switch {
	case s.ReadOnly:
		return sort{kindRead, ""}
	case s.Operation == OpMCP:
		return sort{kindMCP, ""}
	}
	return sort{kindOther, ""}
}

func (w *world) readKind(s *subject) sort {
	if s.Resource == "" && s.ReadOnly && len(w.folders) == 0 {
		return sort{kindRead, ""}
	}
	if p := secretPlace(s); p != "" {
		return sort{kindSecret, p}
	}
	if out := w.outside(s, shellread.Read); out != "" {
		return sort{kindReadOutside, out}
	}
	return sort{kindRead, ""}
}

func (w *world) commandKind(s *subject) sort {
	if d := loadDangers().find(w, s); d != nil {
		return sort{kindDangerous, d.Why}
	}
	if p := secretPlace(s); p != "" {
		return sort{kindSecret, p}
	}
	switch {
	case !s.reading.Static():
		return sort{kindUnclear, s.reading.Unclear[0]}
	case w.writesAnywhere(s):
		return sort{kindUnclear, "it cannot be known what it writes"}
	case !s.reading.Safe():
		return sort{kindCommand, ""}
	}
	if out := w.outside(s, shellread.Read|shellread.Write|shellread.Exec); out != "" {
		return sort{kindReadOutside, out}
	}
	for i := range s.reading.Commands {
		if dir := s.reading.Commands[i].Dir; !w.inside(w.real(dir)) {
			return sort{kindReadOutside, "in " + known(dir)}
		}
	}
	return sort{kindSafe, ""}
}

// writesAnywhere reports whether a path that is certainly written cannot be known.
func (w *world) writesAnywhere(s *subject) bool {
	return len(w.folders) > 0 && slices.ContainsFunc(s.places, func(p place) bool { return p.path == "" && p.written() })
}

// outside returns the first path with one of the accesses that is not inside the
// session's folders; "" when there is none.
func (w *world) outside(s *subject, access shellread.Access) string {
	if len(w.folders) == 0 {
		return ""
	}
	for i := range s.places {
		if p := &s.places[i]; p.access&access != 0 && !isHarmlessDevice(p.path) && !w.holds(p) {
			return known(p.path)
		}
	}
	return ""
}

// holds reports whether a place is inside, both as it is named and without links.
func (w *world) holds(p *place) bool { return w.inside(p.path) && w.inside(p.real) }

// inside reports whether a path is in one of the session's folders. An unknown
// path is not.
func (w *world) inside(p string) bool {
	if len(w.folders) == 0 {
		return true
	}
	return p != "" && slices.ContainsFunc(w.folders, func(f string) bool { return inside(f, p) })
}

func (w *world) real(p string) string { return resolved(p, w.resolve) }

func known(p string) string {
	if p == "" {
		return "a path that cannot be known"
	}
	return p
}

// isHarmlessDevice reports whether a path is one of the devices that everybody may use.
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

// secretPlace returns the first path that would be read and is on the list of
// secrets; "" when there is none.
func secretPlace(s *subject) string {
	secrets := &loadProtected().secrets
	for i := range s.places {
		p := &s.places[i]
		if p.access&shellread.Read != 0 && (secrets.has(p.path) || p.real != p.path && secrets.has(p.real)) {
			return p.path
		}
		if p.access&shellread.Read != 0 && p.pattern != "" && secrets.aimsAt(p.pattern) {
			return p.pattern
		}
	}
	return ""
}

// touchesProtected returns the first path that would certainly be written and is
// protected. What an unknown program might do with a word that looks like a path
// is not certain.
func (s *subject) touchesProtected() (string, bool) {
	for i := range s.places {
		if p := &s.places[i]; p.written() && p.protected() {
			return p.path, true
		}
	}
	return "", false
}

func (p *place) written() bool {
	return p.access&shellread.Write != 0 && p.from != shellread.FromShape && p.from != shellread.FromGuess
}

func (p *place) protected() bool {
	writes := &loadProtected().writes
	return writes.has(p.path) || p.real != p.path && writes.has(p.real)
}

// is reports whether a path that would be written is of one of the classes of
// [dangerPolicy.Paths].
func (w *world) is(p *place, classes []string) bool {
	if !p.written() {
		return false
	}
	for _, class := range classes {
		switch class {
		case "unknown":
			if p.path == "" {
				return true
			}
		case "outside":
			if len(w.folders) > 0 && p.path != "" && !isHarmlessDevice(p.path) && !w.holds(p) {
				return true
			}
		case "protected":
			if p.protected() {
				return true
			}
		case "device":
			if (strings.HasPrefix(p.path, "/dev/") || strings.HasPrefix(p.real, "/dev/")) && !isHarmlessDevice(p.path) && !strings.HasPrefix(p.path, "/dev/shm/") {
				return true
			}
		case "above":
			if p.tree && (w.above(p.path) || w.above(p.real)) {
				return true
			}
		case "critical":
			if p.tree && (w.above(p.path) || w.above(p.real) || slices.Contains(w.folders, p.real) && !p.some()) {
				return true
			}
		}
	}
	return false
}

// some reports whether the place is some of what lies in a folder, by a pattern
// such as "*.o", and not all of it.
func (p *place) some() bool {
	last := p.arg[strings.LastIndexByte(p.arg, '/')+1:]
	return strings.ContainsAny(last, "*?[") && strings.Trim(last, "*.") != ""
}

// above reports whether a folder is more than the project: the root or what lies
// directly in it, the home folder, or one that holds a folder of the session or
// the home.
func (w *world) above(p string) bool {
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
