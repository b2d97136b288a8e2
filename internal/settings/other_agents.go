package settings

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/holdfast-dev/holdfast/internal/importsettings"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

// UnsupportedSetting is a setting of another program's file that has no effect here.
type UnsupportedSetting struct {
	Key    string        `json:"key"`
	Reason string        `json:"why"`
	Origin policy.Origin `json:"origin"`
	// Silent: it changes nothing about what an agent may do.
	Silent bool `json:"quiet,omitempty"`
}

// foreignFile is where a file of another program would be.
type foreignFile struct {
	program importsettings.Program
	kind    importsettings.Kind
	layer   string
	file    string
	dir     string // what relative paths in it count from
}

// foreignManaged are the files of administrators, the strongest first. They lie beside our own folder:
// /etc/claude-code, /etc/codex.
func (o *Options) foreignManaged() []foreignFile {
	etc := filepath.Dir(filepath.Dir(o.Managed))
	claude := filepath.Join(etc, "claude-code")
	list := []foreignFile{{importsettings.Claude, importsettings.Managed, layernames.Managed, filepath.Join(claude, "managed-settings.json"), claude}}
	entries, _ := os.ReadDir(filepath.Join(claude, "managed-settings.d")) // a folder that cannot be read fails below
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
			list = slices.Insert(list, 0, foreignFile{importsettings.Claude, importsettings.Managed, layernames.Managed, filepath.Join(claude, "managed-settings.d", e.Name()), claude})
		}
	}
	codex := filepath.Join(etc, "codex")
	list = append(list, foreignFile{importsettings.Codex, importsettings.Requirements, layernames.Managed, filepath.Join(codex, "requirements.toml"), codex})
	return append(list, codexRules(layernames.Managed, codex, codex)...)
}

// foreignUser are the files in the person's home folder.
func (o *Options) foreignUser() []foreignFile {
	claude, codex := o.claudeHome(), o.codexHome()
	var list []foreignFile
	if claude != "" {
		list = append(list, foreignFile{importsettings.Claude, importsettings.Settings, layernames.User, filepath.Join(claude, projectFile), claude})
	}
	if codex != "" {
		list = append(list, foreignFile{importsettings.Codex, importsettings.Settings, layernames.User, filepath.Join(codex, codexFile), codex})
		list = append(list, codexRules(layernames.User, codex, codex)...)
	}
	return list
}

const codexFile = "config.toml"

func (o *Options) claudeHome() string { return o.programHome(o.ClaudeHome, ".claude") }

func (o *Options) codexHome() string { return o.programHome(o.CodexHome, ".codex") }

func (o *Options) programHome(said, name string) string {
	switch {
	case filepath.IsAbs(said):
		return filepath.Clean(said)
	case o.User != "":
		return filepath.Join(o.User, name)
	}
	return ""
}

// foreignProject are the files in the session's folder and above, as far as the project's folder. The
// nearest is the strongest.
func (o *Options) foreignProject() []foreignFile {
	var list []foreignFile
	users := o.foreignUser()
	add := func(f foreignFile) {
		if !slices.ContainsFunc(users, func(u foreignFile) bool { return u.file == f.file }) {
			list = append(list, f)
		}
	}
	for dir := o.Cwd; ; dir = filepath.Dir(dir) {
		add(foreignFile{importsettings.Claude, importsettings.Settings, layernames.Local, filepath.Join(dir, ".claude", localFile), dir})
		add(foreignFile{importsettings.Claude, importsettings.Settings, layernames.Project, filepath.Join(dir, ".claude", projectFile), dir})
		add(foreignFile{importsettings.Codex, importsettings.Settings, layernames.Project, filepath.Join(dir, ".codex", codexFile), dir})
		for _, f := range codexRules(layernames.Project, filepath.Join(dir, ".codex"), dir) {
			add(f)
		}
		if dir == o.Project || dir == filepath.Dir(dir) || !strings.HasPrefix(dir, o.Project) {
			break
		}
	}
	return list
}

// foreignSources reads the files that are there.
func (o *Options) foreignSources(files []foreignFile) ([]source, error) {
	var list []source
	for _, f := range files {
		src, err := o.read(f.layer, f.file, f.dir)
		if err != nil {
			return nil, offHint(err)
		}
		for i := range src {
			src[i].program, src[i].kind = f.program, f.kind
		}
		list = append(list, src...)
	}
	return list, nil
}

// disableHint says how to stop the reading of other programs' files.
const disableHint = `or turn off reading other programs' settings: "foreignSettings": false in settings.json of HOLDFAST_HOME`

// withOffHint adds that to a hint.
func withOffHint(hint string) string {
	return cmp.Or(hint, "repair it") + "; " + disableHint
}

// offHint adds to the hints of an error how the reading is switched off.
func offHint(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		for i := range e.Problems {
			e.Problems[i].Hint = withOffHint(e.Problems[i].Hint)
		}
	}
	return err
}

// readsForeign says whether files of other programs are read: the strongest of the sources says it, and
// where nobody does they are.
func readsForeign(sources ...[]source) bool {
	for _, src := range slices.Concat(sources...) {
		root, err := parse(src.data)
		if err != nil {
			continue // it is refused when it is decoded
		}
		if v := root.Field("foreignSettings"); v != nil && v.Kind == jsontree.Bool {
			return v.Text == "true"
		}
	}
	return true
}

// foreignSwitch reads foreignSettings.
func (s *parsedSource) foreignSwitch(path string, n jsontree.Node) {
	if s.requireUserLayer(path, n) {
		s.flag(&s.readForeign)(path, n)
	}
}

// decodeForeign reads a source of another program. What it cannot mean here has no effect, and is noted;
// but what it forbids and cannot be read is an error.
func decodeForeign(src source) *parsedSource {
	s := &parsedSource{source: src}
	f, err := importsettings.Read(src.program, src.kind, src.data)
	if e, ok := errors.AsType[*importsettings.Error](err); ok {
		s.problems = append(s.problems, Problem{
			Layer: s.layer, File: s.file, Line: e.Line, Col: e.Col, Fatal: true, Detail: "these settings of " + src.program.String() + " cannot be read: " + e.Detail,
			Hint: withOffHint(e.Hint),
		})
		return s
	}
	if err != nil {
		s.problems = append(s.problems, Problem{Layer: s.layer, File: s.file, Fatal: true, Detail: err.Error(), Hint: withOffHint("")})
		return s
	}
	for _, n := range f.NoEqual {
		s.foreign = append(s.foreign, UnsupportedSetting{n.Key, n.Reason, policy.Origin{Rule: n.Key, Layer: s.layer, File: s.file, Line: n.Line, Col: n.Col}, n.Silent})
	}
	s.data, s.place = f.JSON, f.Position
	if len(f.JSON) == 0 {
		return s
	}
	root, err := parse(s.data)
	if err != nil {
		s.parseFault(err)
		return s
	}
	s.root(root)
	return s
}

// restricting are the keys that forbid or ask: what is wrong with one of them in another program's file
// is never passed over.
var restricting = []string{
	"permissions", "permissions.deny", "permissions.ask", "permissions.forbidden", "permissions.disableBypassPermissionsMode",
	"sandbox", "deniedMcpServers", "allowedMcpServers", "disabledMcpjsonServers", "allowManagedHooksOnly",
}

// skipForeign notes what is wrong with another program's setting that forbids nothing.
func (s *parsedSource) skipForeign(at int, what string) bool {
	if s.program == "" || s.key == "" || slices.Contains(restricting, s.key) {
		return false
	}
	s.noEffect(s.key, at, what)
	return true
}

func (s *parsedSource) noEffect(key string, at int, why string) {
	line, col := s.position(at)
	s.foreign = append(s.foreign, UnsupportedSetting{Key: key, Reason: why, Origin: policy.Origin{Rule: key, Layer: s.layer, File: s.file, Line: line, Col: col}})
}

// foreignServers leaves servers to those who write them down in our settings: they would be started.
func (s *parsedSource) foreignServers(n jsontree.Node) {
	for _, m := range n.Members {
		s.noEffect("mcpServers."+m.Key, m.At, "a server is started when Holdfast's own settings or .mcp.json name it: holdfast settings import")
		s.foreign[len(s.foreign)-1].Silent = true
	}
}

// addForeign takes in what a file of another program says that cannot count, and makes its rules ones
// that can be used.
func (m *merger) addForeign(s *parsedSource) {
	usable := s.rules[:0:0]
	for _, r := range s.rules {
		if r.Effect == policy.Allow {
			if why := m.unusable(r); why != "" {
				s.foreign = append(s.foreign, UnsupportedSetting{Key: "permissions.allow " + r.Text, Reason: why, Origin: ruleOrigin(r)})
				continue
			}
		}
		usable = append(usable, r)
	}
	s.rules = usable
	// A person's or an administrator's word to another program, to ask less or to hold less, was said
	// about that program's guard.
	if s.limited() {
		if s.sandbox != nil {
			for _, l := range s.sandbox.loosens {
				s.foreign = append(s.foreign, UnsupportedSetting{Key: l.Setting, Reason: "it loosens the sandbox of " + s.program.String() + "; only Holdfast's settings can loosen Holdfast's sandbox", Origin: l.Origin, Silent: true})
			}
		}
		if s.mode.Value != "" {
			m.stricterModes = append(m.stricterModes, stricterMode{s.mode, s})
			s.mode = Value[policy.Mode]{}
		}
	}
	if off := s.hooks.off; off.Value != nil && !s.untrusted { // it is about the hooks of that program
		if *off.Value && m.foreignHooksOff == nil {
			m.foreignHooksOff = &off.Origin
		}
		s.hooks.off = Value[*bool]{}
	}
	m.foreignFiles = append(m.foreignFiles, s.file)
}

// unusable says what is wrong with a rule, or "".
func (m *merger) unusable(r policy.RuleSource) string {
	_, found, err := m.out.ruleOptions().Compile([]policy.RuleSource{r})
	for _, p := range found {
		return p.Detail
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// limited: it is another program's file that no folder brought along.
func (s *parsedSource) limited() bool { return s.program != "" && !isFolderLayer(s.layer) }

// UnsupportedNotice says in one line that settings of other programs have no effect here. Both are "" when
// there is nothing to say.
func (s *Settings) UnsupportedNotice() (what, hint string) {
	n, files := 0, []string{}
	for _, f := range s.Foreign {
		if f.Silent {
			continue
		}
		n++
		if !slices.Contains(files, f.Origin.File) {
			files = append(files, f.Origin.File)
		}
	}
	switch {
	case n == 0:
		return "", ""
	case n == 1:
		return "1 setting of " + files[0] + " has no effect here", "holdfast settings show"
	}
	return fmt.Sprint(n) + " settings of " + strings.Join(files, ", ") + " have no effect here", "holdfast settings show"
}

// foreignLayer reads the files of other programs of a layer that no folder brings along.
func (o *Options) foreignLayer(layer string, files func() []foreignFile) ([]source, error) {
	if o.Portable != nil {
		return o.Portable.foreign(o, layer), nil
	}
	return o.foreignSources(files())
}

// foreignDigest identifies what the files of other programs say, names included.
func (o *Options) foreignDigest(files []source) string {
	if len(files) == 0 {
		return ""
	}
	h := sha256.New()
	for _, f := range files {
		name := strings.TrimPrefix(f.file, o.Project+"/")
		fmt.Fprintf(h, "%d:%s %d:", len(name), name, len(f.data))
		h.Write(f.data)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// byLayer joins our files and those of other programs: the local ones, then the project's, ours first.
func byLayer(own, others []source) []source {
	list := slices.Concat(own, others)
	slices.SortStableFunc(list, func(a, b source) int {
		rank := map[string]int{layernames.Local: 0, layernames.Project: 1}
		return cmp.Compare(rank[a.layer], rank[b.layer])
	})
	return list
}

// codexRules are the files of Codex with rules for commands that lie beside its settings.
func codexRules(layer, codex, dir string) (list []foreignFile) {
	if codex == "" {
		return nil
	}
	rules := filepath.Join(codex, "rules")
	entries, err := os.ReadDir(rules)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return []foreignFile{{importsettings.Codex, importsettings.Rules, layer, rules, dir}} // whoever reads it says why that cannot be
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".rules") && !strings.HasPrefix(e.Name(), ".") {
			list = append(list, foreignFile{importsettings.Codex, importsettings.Rules, layer, filepath.Join(rules, e.Name()), dir})
		}
	}
	return list
}
