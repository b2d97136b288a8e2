package settings

import (
	"maps"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/environ"
	"github.com/holdfast-dev/holdfast/internal/jsontree"
	"github.com/holdfast-dev/holdfast/internal/layernames"
)

// Environ returns the additional variables of commands, as "NAME=value", sorted by name.
func (s *Settings) Environ() []string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		list = append(list, name+"="+s.Env[name].Value)
	}
	return list
}

// forbiddenVariables are variables that settings must not set, by name or prefix, with a hint. Some
// are variables that Holdfast itself reads, which would have no effect here. The others change how
// commands are parsed or confined.
var forbiddenVariables = []struct{ name, hint string }{
	{"ANTHROPIC_BASE_URL", "write providers.anthropic.baseURL"},
	{"OPENAI_BASE_URL", "write providers.openai.baseURL"},
	{"ANTHROPIC_MODEL", "write model"},
	{"ANTHROPIC_SMALL_FAST_MODEL", "write smallModel"},
	{"HOLDFAST_*", "set it in the shell that starts holdfast"},
	{"CLAUDE_*", "set it in the shell that starts holdfast"},
	{"HTTP_PROXY", proxyHint},
	{"HTTPS_PROXY", proxyHint},
	{"ALL_PROXY", proxyHint},
	{"NO_PROXY", proxyHint},
	{"LD_*", loadHint},
	{"DYLD_*", loadHint},
	{"BASH_ENV", loadHint},
	{"ENV", loadHint},
	{"BASH_FUNC_*", loadHint},
	{"SHELLOPTS", loadHint},
	{"BASHOPTS", loadHint},
	{"IFS", loadHint},
	{"PS4", loadHint},
	{"PROMPT_COMMAND", loadHint},
	{"HOME", homeHint},
	{"TMPDIR", homeHint},
	{"USER", homeHint},
	{"LOGNAME", homeHint},
	{"SHELL", homeHint},
}

const (
	proxyHint = "the sandbox sets it: see sandbox.network"
	loadHint  = "let the command set it, so that the policy can check it"
	homeHint  = "set it in the shell that starts holdfast"
)

// environment decodes env. A project's settings must not change which programs run, what they load
// and where they connect.
func (s *parsedSource) environment(path string, n jsontree.Node) {
	if !s.want(path, n, jsontree.Object) {
		return
	}
	s.env = map[string]Value[string]{}
	for _, m := range n.Members {
		at := path + "." + m.Key
		s.key = at
		hint, never := wrongFile(m.Key)
		switch value := m.Value; {
		case !variableName().MatchString(m.Key):
			s.fault(m.At, "", "%s: %.80q is not the name of a variable", path, m.Key)
		case never:
			s.fault(m.At, hint, "%s cannot be set by settings", at)
		case (s.layer == layernames.Project || s.layer == layernames.Local) && environ.Dangerous(m.Key):
			s.fault(m.At, "move it into settings.json of HOLDFAST_HOME", "%s: project settings cannot set variables that change which programs run or where they connect", at)
		case value.Kind == jsontree.Number || value.Kind == jsontree.Bool:
			s.env[m.Key] = Value[string]{value.Text, s.origin(value, m.Key)}
		case !s.want(at, value, jsontree.Text):
		case strings.ContainsRune(value.Text, 0):
			s.fault(value.At, "", "%s contains a NUL byte", at)
		default:
			s.env[m.Key] = Value[string]{value.Text, s.origin(value, m.Key)}
		}
	}
}

func wrongFile(name string) (hint string, ok bool) {
	upper := strings.ToUpper(name)
	for _, e := range forbiddenVariables {
		if start, open := strings.CutSuffix(e.name, "*"); upper == e.name || open && strings.HasPrefix(upper, start) {
			return e.hint, true
		}
	}
	return "", false
}

// addEnvironment takes each variable from the strongest layer that sets it. An untrusted folder
// cannot set variables.
func (m *merger) addEnvironment(s *parsedSource) {
	for _, name := range slices.Sorted(maps.Keys(s.env)) {
		v := s.env[name]
		if s.untrusted {
			m.ignore("env "+name, v.Origin)
			continue
		}
		if m.out.Env == nil {
			m.out.Env = map[string]Value[string]{}
		}
		if _, known := m.out.Env[name]; !known {
			m.out.Env[name] = v
		}
	}
}

// styleName decodes outputStyle.
func (s *parsedSource) styleName(path string, n jsontree.Node) {
	text, ok := s.text(path, n)
	switch {
	case !ok:
	case strings.ContainsAny(text, "/\\\x00\r\n") || strings.HasPrefix(text, ".") || strings.TrimSpace(text) != text:
		s.fault(n.At, `write the name of a style, such as "explanatory"`, "%s: %q is not the name of a style", path, text)
	default:
		s.style = Value[string]{text, s.origin(n, text)}
	}
}

// addStyle takes the style from the strongest layer. The style of an untrusted folder is ignored.
func (m *merger) addStyle(s *parsedSource) {
	if s.untrusted && s.style.Value != "" {
		m.ignore("outputStyle "+s.style.Value, s.style.Origin)
		return
	}
	prefer(&m.out.OutputStyle, s.style)
}
