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

// UnsupportedSetting is a setting of another program without effect here.
type UnsupportedSetting struct {
	Key    string        `json:"key"`
	Reason string        `json:"why"`
	Origin policy.Origin `json:"origin"`
	// Silent settings do not change what an agent may do.
	Silent bool `json:"quiet,omitempty"`
}

// foreignFile is the possible location of another program's file.
type foreignFile struct {
	program importsettings.Program
	kind    importsettings.Kind
	layer   string
	file    string
	dir     string // base of the file's relative paths
}

// foreignManaged returns the managed files, the strongest first. They are in folders next to
// Holdfast's: /etc/claude-code, /etc/codex.
func (o *Options) foreignManaged() []foreignFile {
	etc := filepath.Dir(filepath.Dir(o.Managed))
	claude := filepath.Join(etc, "claude-code")
	list := []foreignFile{{importsettings.Claude, importsettings.Managed, layernames.Managed, filepath.Join(claude, "managed-settings.json"), claude}}
	entries, _ := os.ReadDir(filepath.Join(claude, "managed-settings.d")) // if the folder is unreadable, reading it fails below
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".json") && !strings.HasPrefix(e.Name(), ".") {
			list = slices.Insert(list, 0, foreignFile{importsettings.Claude, importsettings.Managed, layernames.Managed, filepath.Join(claude, "managed-settings.d", e.Name()), claude})
		}
	}
	codex := filepath.Join(etc, "codex")
	list = append(list, foreignFile{importsettings.Codex, importsettings.Requirements, layernames.Managed, filepath.Join(codex, "requirements.toml"), codex})
	return append(list, codexRules(layernames.Managed, codex, codex)...)
}

// foreignUser returns the files in the user's home folder.
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

func (o *Options) programHome(configured, name string) string {
	switch {
	case filepath.IsAbs(configured):
		return filepath.Clean(configured)
	case o.User != "":
		return filepath.Join(o.User, name)
	}
	return ""
}

// foreignProject returns the files in the session's folder and its parents up to the project's
// folder. The nearest is the strongest.
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

// foreignSources reads the files that exist.
func (o *Options) foreignSources(files []foreignFile) ([]source, error) {
	var list []source
	for _, f := range files {
		src, err := o.read(f.layer, f.file, f.dir)
		if err != nil {
			return nil, addDisableHint(err)
		}
		for i := range src {
			src[i].program, src[i].kind = f.program, f.kind
		}
		list = append(list, src...)
	}
	return list, nil
}

// disableHint says how to stop reading other programs' files.
const disableHint = `or turn off reading other programs' settings: "foreignSettings": false in settings.json of HOLDFAST_HOME`

// withDisableHint appends disableHint to a hint.
func withDisableHint(hint string) string {
	return cmp.Or(hint, "repair it") + "; " + disableHint
}

// addDisableHint appends disableHint to the hints of an error.
func addDisableHint(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		for i := range e.Problems {
			e.Problems[i].Hint = withDisableHint(e.Problems[i].Hint)
		}
	}
	return err
}

// readsForeign reports whether files of other programs are read: the strongest source that sets it
// decides; the default is true.
func readsForeign(sources ...[]source) bool {
	for _, src := range slices.Concat(sources...) {
		root, err := parse(src.data)
		if err != nil {
			continue // an invalid value is rejected when it is decoded
		}
		if v := root.Field("foreignSettings"); v != nil && v.Kind == jsontree.Bool {
			return v.Text == "true"
		}
	}
	return true
}

// foreignSwitch decodes foreignSettings.
func (s *parsedSource) foreignSwitch(path string, n jsontree.Node) {
	if s.requireUserLayer(path, n) {
		s.flag(&s.readForeign)(path, n)
	}
}

// decodeForeign decodes a source of another program. Settings without an equivalent have no effect
// and are noted, but an unreadable restriction is an error.
func decodeForeign(src source) *parsedSource {
	s := &parsedSource{source: src}
	f, err := importsettings.Read(src.program, src.kind, src.data)
	if e, ok := errors.AsType[*importsettings.Error](err); ok {
		s.problems = append(s.problems, Problem{
			Layer: s.layer, File: s.file, Line: e.Line, Col: e.Col, Fatal: true, Detail: "cannot read these settings of " + src.program.String() + ": " + e.Detail,
			Hint: withDisableHint(e.Hint),
		})
		return s
	}
	if err != nil {
		s.problems = append(s.problems, Problem{Layer: s.layer, File: s.file, Fatal: true, Detail: err.Error(), Hint: withDisableHint("")})
		return s
	}
	for _, n := range f.Unsupported {
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

// restricting are the keys that deny or ask. A problem with one of these keys in another program's
// file is never ignored.
var restricting = []string{
	"permissions", "permissions.deny", "permissions.ask", "permissions.forbidden", "permissions.disableBypassPermissionsMode",
	"sandbox", "deniedMcpServers", "allowedMcpServers", "disabledMcpjsonServers", "allowManagedHooksOnly",
}

// skipForeign notes a problem of another program's setting that restricts nothing.
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

// foreignServers ignores servers unless Holdfast's settings name them, because they would be
// started.
func (s *parsedSource) foreignServers(n jsontree.Node) {
	for _, m := range n.Members {
		s.noEffect("mcpServers."+m.Key, m.At, "a server is started only if Holdfast's settings or .mcp.json name it; hint: holdfast settings import")
		s.foreign[len(s.foreign)-1].Silent = true
	}
}

// addForeign notes what cannot apply in a file of another program, and rewrites its rules so that
// they can be used.
func (m *merger) addForeign(s *parsedSource) {
	usable := s.rules[:0:0]
	for _, r := range s.rules {
		if r.Effect == policy.Allow {
			if why := m.whyUnusable(r); why != "" {
				s.foreign = append(s.foreign, UnsupportedSetting{Key: "permissions.allow " + r.Text, Reason: why, Origin: ruleOrigin(r)})
				continue
			}
		}
		usable = append(usable, r)
	}
	s.rules = usable
	// If a user's or an administrator's setting loosens the approvals or the sandbox of another
	// program, it was meant only for that program.
	if s.isForeignOutsideProject() {
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
	if off := s.hooks.off; off.Value != nil && !s.untrusted { // the setting is about that program's hooks
		if *off.Value && m.foreignHooksOff == nil {
			m.foreignHooksOff = &off.Origin
		}
		s.hooks.off = Value[*bool]{}
	}
	m.foreignFiles = append(m.foreignFiles, s.file)
}

// whyUnusable says what is wrong with a rule, or "".
func (m *merger) whyUnusable(r policy.RuleSource) string {
	_, found, err := m.out.ruleOptions().Compile([]policy.RuleSource{r})
	for _, p := range found {
		return p.Detail
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

// isForeignOutsideProject reports whether the source is another program's file from outside the project's folder.
func (s *parsedSource) isForeignOutsideProject() bool {
	return s.program != "" && !isFolderLayer(s.layer)
}

// UnsupportedNotice reports on one line how many settings of other programs have no effect here.
// Both are "" if there are none.
func (s *Settings) UnsupportedNotice() (what, hint string) {
	n, files := 0, []string{}
	for _, f := range s.Foreign {
		if f.Silent || s.pluginOf(f.Origin.File) != nil {
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

// foreignLayer reads the files of other programs of a layer outside the project's folder.
func (o *Options) foreignLayer(layer string, files func() []foreignFile) ([]source, error) {
	if o.Portable != nil {
		return o.Portable.foreign(o, layer), nil
	}
	return o.foreignSources(files())
}

// foreignDigest identifies the content of other programs' files, including names.
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

// byLayer merges Holdfast's files and those of other programs: local, then project, Holdfast's
// first.
func byLayer(first, others []source) []source {
	list := slices.Concat(first, others)
	slices.SortStableFunc(list, func(a, b source) int {
		rank := map[string]int{layernames.Local: 0, layernames.Project: 1}
		return cmp.Compare(rank[a.layer], rank[b.layer])
	})
	return list
}

// codexRules returns the files with rules for commands next to Codex's settings.
func codexRules(layer, codex, dir string) (list []foreignFile) {
	if codex == "" {
		return nil
	}
	rules := filepath.Join(codex, "rules")
	entries, err := os.ReadDir(rules)
	if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		return []foreignFile{{importsettings.Codex, importsettings.Rules, layer, rules, dir}} // reading the folder reports the error later
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".rules") && !strings.HasPrefix(e.Name(), ".") {
			list = append(list, foreignFile{importsettings.Codex, importsettings.Rules, layer, filepath.Join(rules, e.Name()), dir})
		}
	}
	return list
}
