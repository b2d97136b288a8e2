package settings

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/layernames"
	"github.com/holdfast-dev/holdfast/policy"
)

// merger combines the layers. They are added in order, the strongest first.
type merger struct {
	out           *Settings
	allRules      []policy.RuleSource // all rules, including ignored ones
	stricterModes []stricterMode      // modes of layers that may only make the mode stricter
	neverMatching []policy.RuleSource // rules that can never match
	problems      []Problem

	strict, off, mask, override Value[*bool]
	compact                     Value[*bool]
	trust                       *Trust // nil if nothing is trusted

	foreignFiles    []string       // names of the files of other programs
	foreignHooksOff *policy.Origin // the setting that disables the hooks in them
}

// stricterMode is a mode that applies if it is stricter than the mode otherwise in effect.
type stricterMode struct {
	mode Value[policy.Mode]
	by   *parsedSource
}

func (m *merger) add(s *parsedSource) {
	m.problems = append(m.problems, s.problems...)
	if s.program != "" {
		m.addForeign(s)
	}
	m.out.Foreign = append(m.out.Foreign, s.foreign...)
	m.out.values = append(m.out.values, s.values...)
	m.allRules = append(m.allRules, s.rules...)
	if s.file != "" {
		m.out.Layers = append(m.out.Layers, Layer{Layer: s.layer, File: s.file, Rules: len(s.rules), Untrusted: s.untrusted, Program: string(s.program)})
	}
	m.out.Forbidden = append(m.out.Forbidden, s.forbidden...)
	if m.out.NoBypass == nil {
		m.out.NoBypass = s.noBypass
	}
	m.addHooks(s)
	m.addSecrets(s)
	m.addCompaction(s)
	m.addMCP(s)
	m.addTexts(s)
	m.addWebSearch(s)
	m.addModels(s)
	m.addEnvironment(s)
	m.addStyle(s)
	m.addTerminal(s)
	m.addPlugins(s)
	if s.sandbox != nil {
		m.out.Sandboxes = append(m.out.Sandboxes, *s.sandbox)
	}
	if s.untrusted {
		m.addUntrusted(s)
		return
	}
	m.out.Rules = append(m.out.Rules, s.rules...)
	m.out.Folders = append(m.out.Folders, s.folders...)
	prefer(&m.out.Mode, s.mode)
	prefer(&m.out.OnAsk, s.onAsk)
	prefer(&m.out.AskTimeout, s.askTimeout)
	preferFlag(&m.override, s.override)
}

// addUntrusted adds deny and ask rules, and notes the rest.
func (m *merger) addUntrusted(s *parsedSource) {
	for _, r := range s.rules {
		if r.Effect == policy.Allow {
			m.ignore("allow rule "+r.Text, ruleOrigin(r))
			continue
		}
		m.out.Rules = append(m.out.Rules, r)
	}
	for _, f := range s.folders {
		m.ignore("folder "+f.Origin.Rule, f.Origin)
	}
	if s.onAsk.Value != "" {
		m.ignore("onAsk "+s.onAsk.Origin.Rule, s.onAsk.Origin)
	}
	if s.askTimeout.Value != 0 {
		m.ignore("askTimeout "+s.askTimeout.Origin.Rule, s.askTimeout.Origin)
	}
	if v := s.override.Value; v != nil && *v {
		m.ignore("askToOverride", s.override.Origin)
	}
	if s.sandbox != nil {
		m.out.Ignored = append(m.out.Ignored, s.sandbox.loosens...)
	}
	switch {
	case s.mode.Value == "":
	case m.out.Mode.Value != "": // a stronger layer has set it
		m.ignore("defaultMode "+s.mode.Origin.Rule, s.mode.Origin)
	default:
		m.stricterModes = append(m.stricterModes, stricterMode{s.mode, s})
	}
}

func (m *merger) ignore(what string, o policy.Origin) {
	m.out.Ignored = append(m.out.Ignored, Ignored{Setting: what, Origin: o})
}

// prefer keeps the value of the stronger layer.
func prefer[T comparable](into *Value[T], v Value[T]) {
	var nothing T
	if into.Value == nothing {
		*into = v
	}
}

// finish resolves the values that depend on all layers. It returns every problem, the fatal ones
// first.
func (m *merger) finish() (*Settings, []Problem) {
	for _, w := range m.stricterModes {
		o := w.mode.Origin
		switch {
		case m.out.Mode.Value != w.mode.Value && stricter(w.mode.Value, cmp.Or(m.out.Mode.Value, policy.ModeDefault)):
			m.out.Mode = w.mode
		case w.by.untrusted:
			m.ignore("defaultMode "+o.Rule, o)
		case w.mode.Value != policy.ModeDefault:
			m.out.Foreign = append(m.out.Foreign, UnsupportedSetting{
				Key: "permissions.defaultMode", Reason: "the mode " + o.Rule + " was chosen for " + w.by.program.String() + "; choose one with --permission-mode or in Holdfast's settings", Origin: o, Silent: true,
			})
		}
	}
	if m.override.Value != nil {
		m.out.AllowOverride = Value[bool]{*m.override.Value, m.override.Origin}
	}
	m.checkNetwork()
	m.checkRules()
	m.checkMode()
	m.checkHooks()
	m.checkMCP()
	m.checkSecrets()
	m.checkCompaction()
	m.checkProviders()
	m.checkKeys()
	m.sortProblems()
	for _, p := range m.problems {
		if !p.Fatal {
			m.out.Warnings = append(m.out.Warnings, p)
		}
	}
	return m.out, m.problems
}

// checkNetwork removes the notice that the hosts of an untrusted project are ignored, if a trusted
// layer allows a network: the project's hosts then restrict that network.
func (m *merger) checkNetwork() {
	if !slices.ContainsFunc(m.out.Sandboxes, func(b Sandbox) bool { return !b.Untrusted && b.Settings.Network != nil }) {
		return
	}
	m.out.Ignored = slices.DeleteFunc(m.out.Ignored, func(i Ignored) bool { return i.Setting == "sandbox.network.allowedDomains" })
}

// sortProblems sorts the fatal problems first, then by layer and line.
func (m *merger) sortProblems() {
	file := func(p Problem) int {
		return slices.IndexFunc(m.out.Layers, func(l Layer) bool { return l.File == p.File })
	}
	rank := map[bool]int{true: 0, false: 1}
	slices.SortStableFunc(m.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(rank[a.Fatal], rank[b.Fatal]), cmp.Compare(file(a), file(b)), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Col, b.Col))
	})
}

// checkRules compiles all rules, including ignored ones: they take effect once the project is trusted.
func (m *merger) checkRules() {
	_, found, _ := m.out.ruleOptions().Compile(m.allRules) // the error says the same as the problems
	if tools := m.out.opt.Tools; tools != nil {
		found = m.out.ruleOptions().Lint(m.allRules, tools)
	}
	for _, p := range found {
		if strings.HasPrefix(p.Detail, "it can never match") {
			m.neverMatching = append(m.neverMatching, p.Rule)
		}
		if !p.Fatal && slices.Contains(m.foreignFiles, p.Rule.File) { // the user cannot change it here
			m.out.Foreign = append(m.out.Foreign, UnsupportedSetting{
				Key: "permissions." + string(p.Rule.Effect) + " " + p.Rule.Text, Reason: p.Detail, Origin: ruleOrigin(p.Rule), Silent: true,
			})
			continue
		}
		m.problems = append(m.problems, Problem{
			Layer: p.Rule.Layer, File: p.Rule.File, Line: p.Rule.Line, Col: p.Rule.Col,
			Detail: fmt.Sprintf("%s rule %q: %s", p.Rule.Effect, p.Rule.Text, p.Detail), Hint: p.Hint, Fatal: p.Fatal,
		})
	}
}

func (m *merger) checkMode() {
	if err := m.out.CheckMode(m.out.Mode.Value); err != nil {
		o := m.out.Mode.Origin
		m.problems = append(m.problems, Problem{
			Layer: o.Layer, File: o.File, Line: o.Line, Col: o.Col, Detail: err.Error(), Hint: "choose another mode", Fatal: true,
		})
	}
	if m.out.Mode.Value == policy.ModeRestricted && !m.allowsAnything() {
		o := m.out.Mode.Origin
		m.problems = append(m.problems, Problem{
			Layer: o.Layer, File: o.File, Line: o.Line, Col: o.Col, Fatal: true,
			Detail: "mode restricted has no allow rules, so nothing is allowed", Hint: "use --allowed-tools",
		})
	}
}

// allowsAnything reports whether an allow rule can match.
func (m *merger) allowsAnything() bool {
	return slices.ContainsFunc(m.out.Rules, func(r policy.RuleSource) bool {
		return r.Effect == policy.Allow && !slices.Contains(m.neverMatching, r)
	})
}

// CheckMode returns an error if a layer disables the mode.
func (s *Settings) CheckMode(mode policy.Mode) error {
	if mode == policy.ModeBypass && s.NoBypass != nil {
		return &Error{Problems: []Problem{{
			Detail: fmt.Sprintf("mode %s is disabled by %s", mode, OriginText(*s.NoBypass)), Hint: "choose another mode", Fatal: true,
		}}}
	}
	return nil
}

// parse converts flags to a layer.
func (f *Flags) parse(cwd string) *parsedSource {
	s := &parsedSource{source: source{layer: layernames.Flag, dir: cwd}}
	rules := func(effect policy.Effect, list []Flag) {
		for _, r := range list {
			s.rules = append(s.rules, policy.RuleSource{Effect: effect, Text: r.Text, Layer: layernames.Flag, File: r.Name, Dir: cwd})
		}
	}
	rules(policy.Allow, f.Allow)
	rules(policy.Deny, f.Deny)
	origin := func(name, text string) policy.Origin {
		return policy.Origin{Rule: text, Layer: layernames.Flag, File: name}
	}
	if f.Mode != "" {
		s.mode = Value[policy.Mode]{f.Mode, origin("--permission-mode", string(f.Mode))}
	}
	if f.OnAsk != "" {
		s.onAsk = Value[UnattendedPolicy]{f.OnAsk, origin("--on-ask", string(f.OnAsk))}
	}
	if f.AskTimeout != 0 {
		s.askTimeout.Value, s.askTimeout.Origin = f.AskTimeout, origin("--ask-timeout", f.AskTimeout.String())
	}
	if f.NoHooks {
		s.hooks.off = Value[*bool]{&f.NoHooks, origin("--no-hooks", "")}
	}
	folders := func(name string, list []string) (values []Value[string]) {
		for _, dir := range list {
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(cwd, dir)
			}
			values = append(values, Value[string]{filepath.Clean(dir), origin(name, dir)})
		}
		return values
	}
	s.folders, s.plugins = folders("--add-dir", f.Folders), folders("--plugin-dir", f.Plugins)
	s.addFlagValues()
	return s
}

func ruleOrigin(r policy.RuleSource) policy.Origin {
	return policy.Origin{Rule: r.Text, Layer: r.Layer, File: r.File, Line: r.Line, Col: r.Col}
}

// OriginText formats an origin: "file:line:col", or the flag's name.
func OriginText(o policy.Origin) string {
	switch {
	case o.File == "":
		return o.Layer
	case o.Line == 0:
		return o.File
	}
	return fmt.Sprintf("%s:%d:%d", o.File, o.Line, o.Col)
}
