package registries

import (
	"encoding/xml"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Locations are the places where [Find] searches.
type Locations struct {
	Home string                   // the user's home folder; "": none
	Dir  string                   // the project's folder
	Get  func(name string) string // looks up a variable of the user; nil: no variables
}

// Registry is a host that the configuration of a package manager names. It contains no users and passwords.
type Registry struct {
	Host    string `json:"host"` // with the port, unless it is 80 or 443
	Name    string `json:"name"` // the name of the same package manager's public registries: "@npm"
	File    string `json:"file"` // the file, or the variable
	Line    int    `json:"line,omitempty"`
	Project bool   `json:"project,omitempty"` // a file of the project names it, not the user's configuration
}

// Source returns the file and line, or the variable, that names the registry.
func (r *Registry) Source() string {
	if r.Line == 0 {
		return r.File
	}
	return r.File + ":" + strconv.Itoa(r.Line)
}

// maxFile is the maximum size of a file that is read.
const maxFile = 1 << 20

// reader finds registries in the files of one package manager. find searches the text of a file.
type reader struct {
	name         string
	files        []string // below the home folder
	projectFiles []string // below the project
	vars         []string
	find         func(text string) []found
}

type found struct {
	address string
	line    int
}

var readers = []reader{
	{
		"@npm", []string{".npmrc"}, []string{".npmrc"}, []string{"npm_config_registry", "NPM_CONFIG_REGISTRY"},
		lines(`^\s*(?:@[^:=\s]+:)?registry\s*=\s*"?([^"\s]+)`),
	},
	{"@npm", []string{".yarnrc.yml"}, []string{".yarnrc.yml"}, nil, lines(`^\s*npmRegistryServer:\s*["']?([^"'\s]+)`)},
	{
		"@pypi", []string{".config/pip/pip.conf", ".pip/pip.conf", ".config/uv/uv.toml"}, []string{"uv.toml"}, []string{"PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"},
		lines(`^\s*(?:index-url|extra-index-url|find-links|default-index|url)?\s*=?\s*"?(https?://[^"\s,]+)`),
	},
	{"@go", []string{".config/go/env"}, nil, []string{"GOPROXY"}, goproxy},
	{"@maven", []string{".m2/settings.xml"}, []string{".mvn/settings.xml"}, nil, urlElements},
	{
		"@crates", []string{".cargo/config.toml", ".cargo/config"}, []string{".cargo/config.toml", ".cargo/config"}, nil,
		lines(`^\s*(?:index|registry)\s*=\s*"((?:sparse\+)?https?://[^"]+)`),
	},
}

// Find returns the registries of the user's variables and files, then those of the project's files. It
// returns each host once; a host that the user's configuration names belongs to the user.
func Find(p *Locations) []Registry {
	var list []Registry
	add := func(r Registry, address string) {
		if r.Host = host(address); r.Host == "" || RegistryOf(r.Host) != "" || slices.ContainsFunc(list, func(o Registry) bool { return o.Host == r.Host }) {
			return
		}
		list = append(list, r)
	}
	for _, r := range readers {
		for _, name := range r.vars {
			if p.Get == nil {
				break
			}
			for _, address := range strings.FieldsFunc(p.Get(name), separates) {
				add(Registry{Name: r.name, File: "$" + name}, address)
			}
		}
		if p.Home != "" {
			for _, name := range r.files {
				r.read(filepath.Join(p.Home, name), false, add)
			}
		}
	}
	for _, r := range readers {
		for _, name := range r.projectFiles {
			if p.Dir != "" && p.Dir != p.Home {
				r.read(filepath.Join(p.Dir, name), true, add)
			}
		}
	}
	return list
}

// NPM returns the URL of the registry that the .npmrc of a folder names for all packages, without user and
// password; "" if it names none. Commands cannot read the .npmrc of the home folder, because it may contain
// tokens.
func NPM(folder string) string {
	info, err := os.Stat(filepath.Join(folder, ".npmrc"))
	if folder == "" || err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return ""
	}
	b, err := os.ReadFile(filepath.Join(folder, ".npmrc"))
	if err != nil {
		return ""
	}
	list := lines(`^\s*registry\s*=\s*"?([^"\s]+)`)(string(b))
	if len(list) == 0 || host(list[len(list)-1].address) == "" {
		return ""
	}
	u, err := url.Parse(list[len(list)-1].address)
	if err != nil {
		return ""
	}
	u.User = nil
	return u.String()
}

func (r *reader) read(file string, project bool, add func(Registry, string)) {
	if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return
	}
	for _, f := range r.find(string(b)) {
		add(Registry{Name: r.name, File: file, Line: f.line, Project: project}, f.address)
	}
}

// host returns the host of a URL, with its port; "" if it is not an http or https URL.
func host(address string) string {
	u, err := url.Parse(strings.TrimPrefix(address, "sparse+"))
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || strings.Contains(u.Host, "$") {
		return ""
	}
	name := strings.ToLower(u.Hostname())
	if port := u.Port(); port != "" && port != "443" && port != "80" {
		return name + ":" + port
	}
	return name
}

func separates(c rune) bool { return c == ',' || c == '|' || c == ' ' }

// lines returns a function that finds the matches of the first group of a pattern, in each line that is not a
// comment.
func lines(pattern string) func(string) []found {
	return func(text string) (list []found) {
		line := regexp.MustCompile(pattern)
		for i, l := range strings.Split(text, "\n") {
			if start := strings.TrimSpace(l); strings.HasPrefix(start, "#") || strings.HasPrefix(start, ";") {
				continue
			}
			if m := line.FindStringSubmatch(l); m != nil {
				list = append(list, found{m[1], i + 1})
			}
		}
		return list
	}
}

func goproxy(text string) (list []found) {
	for i, l := range strings.Split(text, "\n") {
		if value, ok := strings.CutPrefix(strings.TrimSpace(l), "GOPROXY="); ok {
			for _, address := range strings.FieldsFunc(value, separates) {
				list = append(list, found{address, i + 1})
			}
		}
	}
	return list
}

// urlElements finds the text of each <url> element, of mirrors and repositories.
func urlElements(text string) (list []found) {
	d := xml.NewDecoder(strings.NewReader(text))
	for inside := false; ; {
		token, err := d.Token()
		if err != nil {
			return list
		}
		switch t := token.(type) {
		case xml.StartElement:
			inside = t.Name.Local == "url"
		case xml.EndElement:
			inside = false
		case xml.CharData:
			if address := strings.TrimSpace(string(t)); inside && address != "" {
				line, _ := d.InputPos() // the position of the end of the text
				line -= strings.Count(string(t[strings.Index(string(t), address):]), "\n")
				list = append(list, found{address, line})
			}
		}
	}
}
