package vendoragent

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/lazyregexp"
)

// PathMapping is a host folder that the agent sees under another name.
type PathMapping struct {
	Host   string // absolute, without links
	Inside string // in the container, absolute
}

// PathMap maps the agent's paths to the host's. Paths are checked and shown as host paths, because
// rules and users refer to those. The agent uses the paths in the container.
type PathMap struct {
	Work string // the agent's working folder in the container
	Home string // the agent's home in the container
	All  []PathMapping
}

// sorted returns the mappings with the deepest folders first, so that the first mapping that
// matches a path is the right one.
func (p PathMap) sorted(by func(PathMapping) string) []PathMapping {
	all := slices.Clone(p.All)
	slices.SortFunc(all, func(a, b PathMapping) int { return len(by(b)) - len(by(a)) })
	return all
}

// Host returns the host path of a container path. ok is false for a path that exists only in the
// container. Such a path is returned unchanged.
func (p PathMap) Host(at string) (host string, ok bool) {
	at = path.Clean(at)
	for _, m := range p.sorted(func(m PathMapping) string { return m.Inside }) {
		if rest, ok := below(at, m.Inside); ok {
			return filepath.Join(m.Host, filepath.FromSlash(rest)), true
		}
	}
	return at, false
}

// Inside returns the container path of a host path. ok is false if the path is not visible in the
// container.
func (p PathMap) Inside(host string) (at string, ok bool) {
	host = filepath.Clean(host)
	for _, m := range p.sorted(func(m PathMapping) string { return m.Host }) {
		if rest, ok := below(filepath.ToSlash(host), filepath.ToSlash(m.Host)); ok {
			return path.Join(m.Inside, rest), true
		}
	}
	return host, false
}

// below returns the part of p below a folder, or "" if p is the folder itself.
func below(p, folder string) (rest string, ok bool) {
	if p == folder {
		return "", true
	}
	rest, ok = strings.CutPrefix(p, strings.TrimSuffix(folder, "/")+"/")
	return rest, ok
}

// maxLinks is the maximum number of links that are followed in a path.
const maxLinks = 40

// Locate returns the host path of a path of the agent, with all links resolved. It resolves links
// as the agent would: a link to /etc leads to the /etc of the container. named is the host path
// before its links are resolved. A path that exists only in the container is returned unchanged;
// the host's file with that path is a different one.
func (p PathMap) Locate(name string) (resource, named string) {
	if !path.IsAbs(name) {
		if rest, ok := below(name, "~"); ok {
			name = path.Join(p.Home, rest)
		} else {
			name = path.Join(p.Work, name)
		}
	}
	name = path.Clean(name)
	named, _ = p.Host(name)
	resource, _ = p.Host(p.follow(name))
	return resource, named
}

// follow resolves the links in a container path as far as the host can see them.
func (p PathMap) follow(name string) string {
	done, todo := "/", strings.Split(strings.TrimPrefix(name, "/"), "/")
	for links := 0; len(todo) > 0; {
		next := path.Join(done, todo[0])
		todo = todo[1:]
		host, seen := p.Host(next)
		if !seen {
			done = next
			continue
		}
		to, err := os.Readlink(host)
		if err != nil || links == maxLinks {
			done = next
			continue
		}
		links++
		if path.IsAbs(to) {
			done = "/"
		}
		todo = append(strings.Split(strings.Trim(path.Clean(to), "/"), "/"), todo...)
	}
	return done
}

// plain matches paths that need no quotes in a command.
var plain = lazyregexp.Must(`^[A-Za-z0-9_./@%+=:,-]+\z`)

// Command returns a command line in which container paths are replaced by host paths, for rules and
// for the approver. The agent runs the original command.
func (p PathMap) Command(line string) string {
	var names []string
	hosts := map[string]string{}
	for _, m := range p.sorted(func(m PathMapping) string { return m.Inside }) {
		if plain().MatchString(m.Host) && plain().MatchString(m.Inside) && m.Inside != "/" {
			names = append(names, regexp.QuoteMeta(m.Inside))
			hosts[m.Inside] = m.Host
		}
	}
	if len(names) == 0 {
		return line
	}
	found := regexp.MustCompile(`(^|[\s"'=:,(<>;|&` + "`" + `{])(` + strings.Join(names, "|") + `)($|[\s"'/:,;|&)<>` + "`" + `}])`)
	replace := func(s string) string {
		return found.ReplaceAllStringFunc(s, func(hit string) string {
			m := found.FindStringSubmatch(hit)
			return m[1] + hosts[m[2]] + m[3]
		})
	}
	return replace(replace(line)) // twice, because two adjacent matches share the character between them
}
