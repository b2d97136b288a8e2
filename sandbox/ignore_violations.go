package sandbox

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// ignoreKinds are the keys of ignoreViolations that name a kind rather than a command. The Open Agent
// SDK uses file and network.
var ignoreKinds = map[string]string{
	"path": kindPath, "file": kindPath, "host": kindHost, "network": kindHost, "syscall": kindSyscall, "limit": kindLimit,
}

// limitNames are the subjects of limit violations.
var limitNames = []string{"cpu", "memory", "pids", "fileSize", "wallTime", "outputBytes"}

// ignoreRule is a compiled entry of ignoreViolations, for one kind or for commands.
type ignoreRule struct {
	kind   string  // "" for every kind
	prefix *prefix // nil for every command
	values []ignoreValue
}

type ignoreValue struct {
	text string
	tree *tree    // nil if the entry cannot be a path
	host *network // nil if the entry cannot be a host
}

func checkIgnoreKey(key string) (what, hint string) {
	if key == "*" || ignoreKinds[key] != "" {
		return "", ""
	}
	what, hint = checkPrefixEntry(key)
	if what != "" {
		hint = `write "*", path, host, syscall, limit, or the beginning of a command`
	}
	return what, hint
}

// checkIgnoreEntry checks a value of a key of ignoreViolations.
func checkIgnoreEntry(key string) entryCheck {
	return func(text string) (what, hint string) {
		if text == "*" {
			return "", ""
		}
		switch ignoreKinds[key] {
		case kindPath:
			return checkPathEntry(text)
		case kindHost:
			return checkDomainEntry(text)
		case kindSyscall:
			if !isSyscall(text) {
				return fmt.Sprintf("%q is not a system call", text), `write its name: "ptrace", "socket(AF_UNIX)"`
			}
		case kindLimit:
			if !slices.Contains(limitNames, text) {
				return fmt.Sprintf("%q is not a limit", text), "the limits are " + strings.Join(limitNames, ", ")
			}
		default:
			if isSyscall(text) || slices.Contains(limitNames, text) {
				return "", ""
			}
			if what, _ := checkDomainEntry(text); what == "" {
				return "", ""
			}
			return checkPathEntry(text)
		}
		return "", ""
	}
}

// isSyscall reports whether a text can name a refused system call: "ptrace", "ioctl(TIOCSTI)".
func isSyscall(text string) bool {
	name, arg, call := strings.Cut(text, "(")
	if call {
		inner, ok := strings.CutSuffix(arg, ")")
		if !ok || inner == "" || strings.Trim(inner, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") != "" {
			return false
		}
	}
	return name != "" && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

func compileIgnores(s *Settings, dir, home string) ([]ignoreRule, error) {
	var out []ignoreRule
	for key, list := range s.IgnoreViolations {
		field := fieldIgnore + "." + key
		if what, hint := checkIgnoreKey(key); what != "" {
			return nil, &Error{Field: field, Detail: what, hint: hint}
		}
		m := ignoreRule{kind: ignoreKinds[key]}
		if key != "*" && m.kind == "" {
			p, err := compilePrefixes(field, []string{key}, dir, home)
			if err != nil {
				return nil, err
			}
			m.prefix = &p[0]
		}
		for i, text := range list {
			if what, hint := checkIgnoreEntry(key)(text); what != "" {
				return nil, &Error{Field: fmt.Sprintf("%s[%d]", field, i), Detail: what, hint: hint}
			}
			m.values = append(m.values, compileIgnoreValue(text, dir, home))
		}
		out = append(out, m)
	}
	return out, nil
}

func compileIgnoreValue(text, dir, home string) ignoreValue {
	v := ignoreValue{text: text}
	if trees, err := compileTrees(fieldIgnore, []string{text}, dir, home); err == nil {
		v.tree = &trees[0]
	}
	v.host, _ = compileNetwork(&Network{AllowedDomains: []string{text}}) // nil: not a host
	return v
}

// matches reports whether the rule excludes a violation from the report. The parameter r is the
// command line.
func (m *ignoreRule) matches(v *Violation, r *shellparse.Reading) bool {
	if m.kind != "" && m.kind != v.Kind {
		return false
	}
	if m.prefix != nil && !slices.ContainsFunc(r.Commands, func(c shellparse.Command) bool { return m.prefix.matches(&c) }) {
		return false
	}
	return slices.ContainsFunc(m.values, func(value ignoreValue) bool { return value.means(v) })
}

func (value *ignoreValue) means(v *Violation) bool {
	if value.text == "*" {
		return true
	}
	switch v.Kind {
	case kindPath:
		return value.tree != nil && value.tree.covers(v.Subject)
	case kindHost:
		host, port, ok := hostOf(v.Subject)
		return ok && value.host != nil && value.host.allows(host, port, false)
	case kindSyscall:
		return value.text == v.Subject || strings.HasPrefix(v.Subject, value.text+"(")
	}
	return value.text == v.Subject
}
