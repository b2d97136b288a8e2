package settings

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/holdfast-dev/holdfast/internal/importsettings"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/policy"
)

// source is the text of one settings file or flag.
type source struct {
	layer string
	file  string // name for display
	dir   string // the folder that paths such as "/x" in rules, and relative folders, are relative to
	user  string // the home folder, for "~"
	data  []byte

	program   importsettings.Program           // the program that the file belongs to; "" means Holdfast
	kind      importsettings.Kind              // for a file of another program
	importing bool                             // true if the file is imported and not read for a run
	place     func(offset int) (line, col int) // returns the position in the file; nil for data without a file

	untrusted bool // true if the source may deny and ask, but not allow
}

// parsedSource is the content of one source.
type parsedSource struct {
	source
	rules      []policy.RuleSource
	mode       Value[policy.Mode]
	folders    []Value[string]
	forbidden  []Value[string]
	onAsk      Value[UnattendedPolicy]
	askTimeout Value[time.Duration]
	override   Value[*bool]
	noBypass   *policy.Origin
	sandbox    *Sandbox
	hooks      parsedHooks
	secrets    parsedSecrets
	daemon     Daemon
	cleanup    *int
	reads      Texts
	compaction parsedCompaction
	web        WebSearch
	fetch      WebFetch
	models     Models
	env        map[string]Value[string]
	style      Value[string]
	terminal   Terminal
	status     StatusLine
	mcp        parsedMCP
	plugins    []Value[string] // folders, absolute
	problems   []Problem
	notes      []Problem // settings without effect

	values      []leaf               // as written
	foreign     []UnsupportedSetting // settings of another program that have no effect here
	readForeign Value[*bool]
	key         string // key of the setting being decoded: "permissions.deny"

	lenient bool // a problem in the definition of a server affects only that server
	given   bool // from --mcp-config
}

// decode decodes a source. Problems are collected in problems.
func decode(src source) *parsedSource {
	if src.program != "" {
		return decodeForeign(src)
	}
	s := &parsedSource{source: src}
	root, err := parse(src.data)
	if err != nil {
		s.parseFault(err)
		return s
	}
	s.root(root)
	return s
}

// root decodes the whole source.
func (s *parsedSource) root(root jsontree.Node) {
	s.addSourceValues(root)
	s.object("", root, map[string]func(string, jsontree.Node){
		"permissions": s.permissions,
		"sandbox":     s.sandboxBlock,
		"hooks":       s.hooksBlock,
		"secrets":     s.secretsBlock,
		"daemon":      s.daemonBlock,

		"cleanupPeriodDays": s.cleanupPeriod,

		"compact":            s.compactBlock,
		"autoCompactEnabled": s.autoCompact,

		"strictHooks":            s.flag(&s.hooks.strict),
		"hooksSandbox":           s.hookSandbox,
		"disableAllHooks":        s.flag(&s.hooks.off),
		"allowManagedHooksOnly":  s.managedHooksOnly,
		"allowedHttpHookUrls":    s.hookURLs,
		"httpHookAllowedEnvVars": s.hookEnv,

		"mcpServers":                 s.mcpServers,
		"disabledMcpjsonServers":     s.disabledMCP,
		"enabledMcpjsonServers":      s.rejectByName,
		"enableAllProjectMcpServers": s.rejectByName,
		"deniedMcpServers":           s.deniedMCP,
		"allowedMcpServers":          s.allowedMCP,
		"allowManagedMcpServersOnly": s.managedMCPOnly,

		"plugins": s.pluginFolders,

		"contextFiles":     s.contextFiles,
		"claudeMdExcludes": s.excludes,

		"webFetch": s.webFetchBlock, "webSearch": s.webSearchBlock,

		"model": s.modelName(&s.models.Model), "smallModel": s.modelName(&s.models.Small),
		"retry": s.retryBlock, "providers": s.providersBlock, "prices": s.pricesBlock,

		"env": s.environment, "outputStyle": s.styleName,

		"terminal": s.terminalBlock, "statusLine": s.statusLineBlock,

		"foreignSettings": s.foreignSwitch,

		"$schema": func(path string, n jsontree.Node) { s.text(path, n) },
	})
}

// parseFault records that a text is not JSON.
func (s *parsedSource) parseFault(err error) {
	if e, ok := errors.AsType[*jsontree.Error](err); ok {
		s.fault(e.Offset, e.Hint, "%s", e.What)
		return
	}
	s.fault(0, "", "%v", err)
}

func (s *parsedSource) permissions(path string, n jsontree.Node) {
	s.object(path, n, map[string]func(string, jsontree.Node){
		"allow":                        s.ruleList(policy.Allow),
		"ask":                          s.ruleList(policy.Ask),
		"deny":                         s.ruleList(policy.Deny),
		"defaultMode":                  s.defaultMode,
		"additionalDirectories":        s.directories,
		"forbidden":                    s.globs,
		"onAsk":                        s.onAskWord,
		"askTimeout":                   s.timeout,
		"askToOverride":                s.flag(&s.override),
		"disableBypassPermissionsMode": s.disableBypass,
	})
}

func (s *parsedSource) ruleList(effect policy.Effect) func(string, jsontree.Node) {
	return func(path string, n jsontree.Node) {
		s.texts(path, n, func(_ string, item jsontree.Node) {
			line, col := s.position(item.At)
			s.rules = append(s.rules, policy.RuleSource{
				Effect: effect, Text: item.Text, Layer: s.layer, File: s.file, Line: line, Col: col, Dir: s.dir,
			})
		})
	}
}

func (s *parsedSource) defaultMode(path string, n jsontree.Node) {
	text, ok := s.text(path, n)
	if !ok {
		return
	}
	mode := policy.Mode(text)
	if err := mode.Check(); err != nil {
		what, hint, _ := strings.Cut(err.Error(), ", want ")
		s.fault(n.At, "write "+hint, "%s: %s", path, what)
		return
	}
	s.mode = Value[policy.Mode]{mode, s.origin(n, text)}
}

func (s *parsedSource) directories(path string, n jsontree.Node) {
	s.texts(path, n, func(_ string, item jsontree.Node) {
		if dir, ok := s.absolutePath(path, item); ok {
			s.folders = append(s.folders, Value[string]{dir, s.origin(item, item.Text)})
		}
	})
}

// absolutePath makes a path absolute, relative to the user's home folder or the settings' folder.
func (s *parsedSource) absolutePath(path string, item jsontree.Node) (string, bool) {
	name := item.Text
	if strings.ContainsRune(name, 0) {
		s.fault(item.At, "", "%s: the name contains a NUL byte", path)
		return "", false
	}
	if name == "~" || strings.HasPrefix(name, "~/") {
		if s.user == "" {
			s.fault(item.At, "write the whole path", "%s: cannot expand %q: no home folder", path, name)
			return "", false
		}
		name = s.user + name[1:]
	}
	if strings.HasPrefix(name, "~") {
		s.fault(item.At, "write the whole path", "%s: %q: the home of another user is not known", path, name)
		return "", false
	}
	if !filepath.IsAbs(name) {
		name = filepath.Join(s.dir, name)
	}
	return filepath.Clean(name), true
}

func (s *parsedSource) globs(path string, n jsontree.Node) {
	s.texts(path, n, func(at string, item jsontree.Node) {
		home := s.user
		if home == "" {
			home = "/" // the home folder is checked when the glob is used
		}
		if _, err := (policy.PathRules{Deny: []string{item.Text}, Cwd: s.dir, Home: home}).ForbidPolicy(); err != nil {
			s.fault(item.At, `write a glob such as "**/.env*" or "secrets/**"`, "%s: %q is not a usable glob", at, item.Text)
			return
		}
		s.forbidden = append(s.forbidden, Value[string]{item.Text, s.origin(item, item.Text)})
	})
}

func (s *parsedSource) onAskWord(path string, n jsontree.Node) {
	text, ok := s.text(path, n)
	if !ok {
		return
	}
	way, err := parseOnAsk(text)
	if err != nil {
		s.fault(n.At, "write deny, wait or fail", "%s: unknown value %q", path, text)
		return
	}
	s.onAsk = Value[UnattendedPolicy]{way, s.origin(n, text)}
}

// parseOnAsk parses an unattended policy.
func parseOnAsk(text string) (UnattendedPolicy, error) {
	switch way := UnattendedPolicy(text); way {
	case UnattendedDeny, UnattendedWait, UnattendedSuspend:
		return way, nil
	}
	return "", fmt.Errorf("%w: %q, want deny, wait or fail", ErrInvalid, text)
}

func (s *parsedSource) timeout(path string, n jsontree.Node) {
	text, ok := s.text(path, n)
	if !ok {
		return
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		s.fault(n.At, `write a time such as "10m" or "1h30m"`, "%s: %q is not a time to wait", path, text)
		return
	}
	s.askTimeout = Value[time.Duration]{d, s.origin(n, text)}
}

func (s *parsedSource) disableBypass(path string, n jsontree.Node) {
	text, ok := s.text(path, n)
	switch {
	case !ok:
	case text != "disable":
		s.fault(n.At, `write "disable", or remove the key`, "%s: unknown value %q", path, text)
	default:
		o := s.origin(n, text)
		s.noBypass = &o
	}
}

// object calls a function for each member of an object, by its key.
func (s *parsedSource) object(path string, n jsontree.Node, fields map[string]func(string, jsontree.Node)) {
	if !s.want(path, n, jsontree.Object) {
		return
	}
	for _, m := range n.Members {
		read, ok := fields[m.Key]
		if !ok {
			hint := keyHint(path, m.Key, fields)
			s.fault(m.At, hint, "unknown key %q", strings.TrimPrefix(path+"."+m.Key, "."))
			continue
		}
		if path == "" || path == "permissions" {
			s.key = strings.TrimPrefix(path+"."+m.Key, ".")
		}
		read(strings.TrimPrefix(path+"."+m.Key, "."), m.Value)
	}
}

// texts calls a function for each item of a list of non-empty strings.
func (s *parsedSource) texts(path string, n jsontree.Node, each func(string, jsontree.Node)) {
	if !s.want(path, n, jsontree.List) {
		return
	}
	for i, item := range n.Items {
		at := fmt.Sprintf("%s[%d]", path, i)
		if _, ok := s.text(at, item); ok {
			each(at, item)
		}
	}
}

// text decodes a string that must not be empty.
func (s *parsedSource) text(path string, n jsontree.Node) (string, bool) {
	if !s.want(path, n, jsontree.Text) {
		return "", false
	}
	if strings.TrimSpace(n.Text) == "" {
		s.fault(n.At, "remove it", "%s is empty", path)
		return "", false
	}
	return n.Text, true
}

func (s *parsedSource) want(path string, n jsontree.Node, k jsontree.Kind) bool {
	if n.Kind == k {
		return true
	}
	if path == "" {
		path = "the file"
	}
	s.fault(n.At, "", "%s is %s, want %s", path, n.Kind, k)
	return false
}

func (s *parsedSource) fault(at int, hint, format string, args ...any) {
	line, col := s.position(at)
	if s.program != "" {
		if s.skipForeign(at, fmt.Sprintf(format, args...)) {
			return
		}
		hint = withDisableHint(hint)
	}
	s.problems = append(s.problems, Problem{
		Layer: s.layer, File: s.file, Line: line, Col: col, Detail: fmt.Sprintf(format, args...), Hint: hint, Fatal: true,
	})
}

// position converts an offset in the data to a position in the file.
func (s *parsedSource) position(at int) (line, col int) {
	if s.place != nil {
		return s.place(at)
	}
	return position(s.data, at)
}

func (s *parsedSource) origin(n jsontree.Node, text string) policy.Origin {
	line, col := s.position(n.At)
	return policy.Origin{Rule: text, Layer: s.layer, File: s.file, Line: line, Col: col}
}
