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

// PathMapping is a folder of the host that the guest sees under another name.
type PathMapping struct {
	Host   string // absolute, without links
	Inside string // in the container, absolute
}

// PathMap are what the guest sees of the host. A path is judged and shown in the host's
// terms, which are the only ones that rules and people know, and is used by the guest in
// its own.
type PathMap struct {
	Work string // the guest's working folder in the container
	Home string // and its home
	All  []PathMapping
}

// sorted has the deepest places first, so that the first that fits is the right one.
func (p PathMap) sorted(by func(PathMapping) string) []PathMapping {
	all := slices.Clone(p.All)
	slices.SortFunc(all, func(a, b PathMapping) int { return len(by(b)) - len(by(a)) })
	return all
}

// Host is where a path of the container lies on the host. ok is false of paths that are
// the container's own, which keep their name.
func (p PathMap) Host(at string) (host string, ok bool) {
	at = path.Clean(at)
	for _, m := range p.sorted(func(m PathMapping) string { return m.Inside }) {
		if rest, ok := below(at, m.Inside); ok {
			return filepath.Join(m.Host, filepath.FromSlash(rest)), true
		}
	}
	return at, false
}

// Inside is where a path of the host is seen in the container. ok is false when it is not.
func (p PathMap) Inside(host string) (at string, ok bool) {
	host = filepath.Clean(host)
	for _, m := range p.sorted(func(m PathMapping) string { return m.Host }) {
		if rest, ok := below(filepath.ToSlash(host), filepath.ToSlash(m.Host)); ok {
			return path.Join(m.Inside, rest), true
		}
	}
	return host, false
}

// below returns what of p is below a folder: "" for the folder itself.
func below(p, folder string) (rest string, ok bool) {
	if p == folder {
		return "", true
	}
	rest, ok = strings.CutPrefix(p, strings.TrimSuffix(folder, "/")+"/")
	return rest, ok
}

// maxLinks is how many links are followed before a path is given up.
const maxLinks = 40

// Locate says where a path that the guest names lies, without links, as the guest would
// follow them: a link to /etc is the container's. named is the path with its links. A
// path of the container alone keeps its name; the host's files of that name are others.
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

// follow resolves the links of a path of the container where the host can see them.
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

// plain are paths that mean the same in a command without quotes.
var plain = lazyregexp.Must(`^[A-Za-z0-9_./@%+=:,-]+\z`)

// Command is a command line with the container's paths in the host's terms, for rules
// and for the person. The guest runs it as it wrote it.
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
	return replace(replace(line)) // twice: neighbours share the character between them
}
