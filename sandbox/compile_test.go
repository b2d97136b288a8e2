package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/internal/sandbox/kernel"
	"github.com/holdfast-dev/holdfast/policy"
)

// plant creates a tree: "a/b/" is a folder, "a/f" a file, "a/l -> x" a link and "a/f: text" a file with text.
// It returns the resolved root.
func plant(t testing.TB, lines ...string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	plantIn(t, root, lines)
	return root
}

// plantIn creates them in a folder, which replaces "@/" in the content of files.
func plantIn(t testing.TB, root string, lines []string) {
	t.Helper()
	for _, line := range lines {
		name, text, _ := strings.Cut(line, ": ")
		text = strings.ReplaceAll(text, "@/", root+"/")
		name, target, link := strings.Cut(name, " -> ")
		full := filepath.Join(root, name)
		err := os.MkdirAll(filepath.Dir(full), 0o755)
		switch {
		case err != nil:
		case link:
			err = os.Symlink(target, full)
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(full, 0o755)
		default:
			err = os.WriteFile(full, []byte(text), 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// testLayer contains the settings of one layer for tests. "@" in a path is the root of the tree.
type testLayer struct {
	Settings
	layer     string
	untrusted bool
}

func layersFor(t testing.TB, root string, list []testLayer) []*Checker {
	t.Helper()
	var out []*Checker
	for i := range list {
		s := list[i].clone()
		for _, l := range []*[]string{&s.AllowedReadPaths, &s.AllowedWritePaths, &s.DeniedPaths, &s.ProtectedPaths, &s.AdditionalWritePaths} {
			for j := range *l {
				(*l)[j] = strings.ReplaceAll((*l)[j], "@", root)
			}
		}
		origin := policy.Origin{Layer: list[i].layer, File: "settings.json", Line: i + 1}
		if list[i].untrusted {
			origin.Layer = layernames.Project
		}
		c, err := NewChecker(&s, &Options{Home: root + "/home", Dir: root, Origin: origin})
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// planFor compiles layers for the workspace ws of a tree with a home folder.
func planFor(t testing.TB, root string, list ...testLayer) (*plan, error) {
	t.Helper()
	c, err := newCompiler(layersFor(t, root, list), &OpenOptions{Folders: []string{root + "/ws"}, Home: root + "/home", State: []string{root + "/home/.holdfast"}})
	if err != nil {
		return nil, err
	}
	return c.compile()
}

// relative makes paths relative to root, and omits those outside of it.
func relative(root string, list []string) string {
	var out []string
	for _, p := range list {
		if within(p, root) {
			out = append(out, strings.TrimPrefix(strings.TrimPrefix(p, root), "/"))
		}
	}
	return strings.Join(out, " ")
}

func forbiddenPaths(p *plan) []string { return namesOf(p.policy.Forbid) }

func TestCompileWrites(t *testing.T) {
	user, managed := layernames.User, layernames.Managed
	for name, tt := range map[string]struct {
		layers []testLayer
		want   string
	}{
		"no settings":                  {nil, "ws"},
		"no list is the workspace":     {[]testLayer{{}}, "ws"},
		"only these":                   {[]testLayer{{Settings: Settings{AllowedWritePaths: []string{"@/data"}}}}, "data"},
		"nothing in common":            {[]testLayer{{Settings: Settings{AllowedWritePaths: []string{"@/data"}}}, {}}, ""},
		"the deeper one":               {[]testLayer{{Settings: Settings{AllowedWritePaths: []string{"@/data"}}}, {Settings: Settings{AllowedWritePaths: []string{"@/data/in", "@/ws"}}}}, "data/in"},
		"inside each other":            {[]testLayer{{Settings: Settings{AllowedWritePaths: []string{"@/data", "@/data/in"}}}}, "data"},
		"a file":                       {[]testLayer{{Settings: Settings{AllowedWritePaths: []string{"@/data/f"}}}}, "data/f"},
		"besides":                      {[]testLayer{{Settings: Settings{AdditionalWritePaths: []string{"@/data"}}, layer: user}}, "data ws"},
		"besides, by nobody trusted":   {[]testLayer{{Settings: Settings{AdditionalWritePaths: []string{"@/data"}}, untrusted: true}}, "ws"},
		"nobody trusted opens":         {[]testLayer{{Settings: Settings{AllowedWritePaths: []string{"@/data", "@/ws/src"}}, untrusted: true}}, "ws/src"},
		"nobody trusted opens secrets": {[]testLayer{{Settings: Settings{AllowedWritePaths: []string{"@/home/.ssh"}}, untrusted: true}}, ""},
		"denied":                       {[]testLayer{{Settings: Settings{AllowedWritePaths: []string{"@/data", "@/ws"}, DeniedPaths: []string{"@/data"}}}}, "ws"},
		"denied by its link":           {[]testLayer{{Settings: Settings{AllowedWritePaths: []string{"@/data", "@/ws"}, DeniedPaths: []string{"@/to-data"}}}}, "ws"},
		"all of it is protected":       {[]testLayer{{Settings: Settings{AllowedWritePaths: []string{"@/data/in", "@/ws"}, ProtectedPaths: []string{"@/data"}}}}, "ws"},
		"it is protected itself":       {[]testLayer{{Settings: Settings{AllowedWritePaths: []string{"@/data/in", "@/ws"}, ProtectedPaths: []string{"@/data/in"}}}}, "ws"},
		"managed says only these":      {[]testLayer{{Settings: Settings{AllowedWritePaths: []string{"@/ws"}}, layer: managed}, {Settings: Settings{AdditionalWritePaths: []string{"@/data"}}, layer: user}}, "ws"},
		"by its link":                  {[]testLayer{{Settings: Settings{AllowedWritePaths: []string{"@/to-data"}}}}, "data"},
	} {
		t.Run(name, func(t *testing.T) {
			root := plant(t, "ws/src/", "data/in/", "data/f", "home/.ssh/id", "to-data -> data")
			p, err := planFor(t, root, tt.layers...)
			if err != nil {
				t.Fatal(err)
			}
			if got := relative(root, p.policy.Write); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestCompileRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		tree  []string
		layer Settings
		want  string
	}{
		"what does not exist":       {nil, Settings{AllowedWritePaths: []string{"@/none"}}, "does not exist"},
		"our state":                 {[]string{"home/.holdfast/x/"}, Settings{AllowedWritePaths: []string{"@/home/.holdfast/x"}}, "own state"},
		"a link of a command":       {[]string{"other/", "ws/l -> ../other"}, Settings{AllowedWritePaths: []string{"@/ws", "@/ws/l"}}, "is a symbolic link that commands could change"},
		"a protected link":          {[]string{"ws/.claude -> decoy", "ws/decoy/"}, Settings{}, ".claude is a symbolic link"},
		"a protected link deeper":   {[]string{"ws/a/b/.vscode -> x"}, Settings{}, ".vscode is a symbolic link"},
		"hooks that are a link":     {[]string{"ws/.git/hooks -> ../h", "ws/h/"}, Settings{}, "hooks is a symbolic link"},
		"all denied":                {nil, Settings{DeniedPaths: []string{"/"}}, "is in deniedPaths"},
		"the workspace denied":      {nil, Settings{DeniedPaths: []string{"@/ws"}}, "is in deniedPaths"},
		"git sent elsewhere":        {[]string{"ws/.git/objects/", "ws/.git/commondir: ../evil"}, Settings{}, "commondir points git"},
		"hooks in the whole folder": {[]string{"ws/.git/config: [core]\n\thooksPath = ."}, Settings{}, "core.hookspath"},
		"protected by a link":       {[]string{"ws/l -> f", "ws/f"}, Settings{ProtectedPaths: []string{"@/ws/l"}}, "is a symbolic link that commands could change"},
	} {
		t.Run(name, func(t *testing.T) {
			root := plant(t, append(tt.tree, "ws/", "home/")...)
			_, err := planFor(t, root, testLayer{Settings: tt.layer})
			e, ok := errors.AsType[*Error](err)
			if !ok || !strings.Contains(e.Error(), tt.want) {
				t.Fatalf("got %v, want %q", err, tt.want)
			}
			if e.Hint() == "" {
				t.Error("there is no hint")
			}
		})
	}
}

func TestWorkspaceRefused(t *testing.T) {
	root := plant(t, "file", "to-root -> /", "home/u/", "a:b/", "to-colon -> a:b", "new\nline/", "secret/.ssh/")
	for folder, want := range map[string]string{
		"/": "system folder", "/etc": "belongs to the system", "/usr/bin": "belongs to the system", "/usr": "system folder",
		root + "/to-root": "system folder", root + "/none": "not a folder", root + "/file": "not a folder",
		root + "/home": "contains the home folder", root + "/a:b": "colon", root + "/to-colon": "colon",
		root + "/new\nline": "control character", root + "\x00": "control character", "/tmp": "system folder",
	} {
		c, err := newCompiler(nil, &OpenOptions{Folders: []string{folder}, Home: root + "/home/u"})
		if err == nil {
			_, err = c.compile()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", folder, err, want)
		}
	}
	k, err := NewChecker(&Settings{AllowedWritePaths: []string{"/"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := plannedIn(t, "/", k).policy.Write; !slices.Equal(got, []string{"/"}) {
		t.Errorf("a root that is named: %q", got)
	}
}

func plannedIn(t testing.TB, folder string, list ...*Checker) *plan {
	t.Helper()
	home := plant(t)
	c, err := newCompiler(list, &OpenOptions{Folders: []string{folder}, Home: home})
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.compile()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestCompileReads(t *testing.T) {
	root := plant(t, "ws/", "home/", "data/in/")
	for name, tt := range map[string]struct {
		layers []Settings
		all    bool
		want   string
	}{
		"everything":    {nil, true, ""},
		"these":         {[]Settings{{AllowedReadPaths: []string{"@/data"}}, {}}, false, "data"},
		"in common":     {[]Settings{{AllowedReadPaths: []string{"@/data", "@/home"}}, {AllowedReadPaths: []string{"@/data/in"}}}, false, "data/in"},
		"what is not":   {[]Settings{{AllowedReadPaths: []string{"@/none"}}}, false, ""},
		"one says all":  {[]Settings{{AllowedReadPaths: []string{"/"}}, {AllowedReadPaths: []string{"@/data"}}}, false, "data"},
		"and denies it": {[]Settings{{AllowedReadPaths: []string{"@/data/in"}, DeniedPaths: []string{"@/data"}}}, false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var layers []testLayer
			for _, s := range tt.layers {
				layers = append(layers, testLayer{Settings: s})
			}
			p, err := planFor(t, root, layers...)
			if err != nil {
				t.Fatal(err)
			}
			if got := relative(root, p.policy.Read); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if all := slices.Contains(p.policy.Read, "/"); all != tt.all || !all && !slices.Contains(p.policy.Read, "/usr") {
				t.Errorf("all of it: %v, of %q", all, p.policy.Read)
			}
		})
	}
}

func TestCompileNetwork(t *testing.T) {
	open := &Network{AllowedDomains: []string{"a.test"}}
	for name, tt := range map[string]struct {
		layers []Settings
		want   kernel.Network
	}{
		"nobody says":     {[]Settings{{}}, kernel.NoNetwork},
		"an empty block":  {[]Settings{{Network: &Network{}}}, kernel.NoNetwork},
		"a host":          {[]Settings{{Network: open}}, kernel.ProxyNetwork},
		"one has nothing": {[]Settings{{Network: open}, {Network: &Network{}}}, kernel.NoNetwork},
		"one says none":   {[]Settings{{Network: open}, {}}, kernel.ProxyNetwork},
		"a question":      {[]Settings{{Network: &Network{Ask: new(true)}}}, kernel.ProxyNetwork},
		"its own":         {[]Settings{{Network: &Network{AllowLocalBinding: new(true)}}}, kernel.NoNetwork},
		"unix sockets":    {[]Settings{{Network: &Network{AllowUnixSockets: true}}}, kernel.NoNetwork},
	} {
		root := plant(t, "ws/", "home/")
		var layers []testLayer
		for _, s := range tt.layers {
			layers = append(layers, testLayer{Settings: s})
		}
		p, err := planFor(t, root, layers...)
		if err != nil {
			t.Fatal(err)
		}
		if p.policy.Network != tt.want || !p.policy.Notify {
			t.Errorf("%s: got %v", name, p.policy.Network)
		}
	}
}
