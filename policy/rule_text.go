package policy

import (
	"fmt"
	"strings"
	"unicode"
)

// ruleText is a parsed rule: Tool, or Tool(spec).
type ruleText struct {
	tool string
	spec string // the text between the parentheses, with its escapes; "" means every use
	bare bool   // no parentheses, or "(*)"
}

// parseError is the reason why a rule or another entry is invalid.
type parseError struct{ what, hint string }

func (m *parseError) Error() string {
	if m.hint == "" {
		return m.what
	}
	return m.what + "; hint: " + m.hint
}

// parseRule parses a rule. A parenthesis that belongs to the text is written "\(", unless it is one
// of a pair.
func parseRule(text string) (ruleText, *parseError) {
	text = strings.TrimSpace(text)
	if text == "" {
		return ruleText{}, &parseError{"the rule is empty", `write a tool's name, or Tool(what): "Bash(npm test)"`}
	}
	if m := checkInvisible(text); m != nil {
		return ruleText{}, m
	}
	tool, rest, parens := strings.Cut(text, "(")
	if m := checkTool(tool); m != nil {
		return ruleText{}, m
	}
	if !parens {
		return ruleText{tool: tool, bare: true}, nil
	}
	spec, m := closeSpec(rest)
	if m != nil {
		return ruleText{}, m
	}
	switch strings.TrimSpace(spec) {
	case "":
		return ruleText{}, &parseError{"the parentheses are empty", "write " + tool + " for every use of it"}
	case "*":
		return ruleText{tool: tool, bare: true}, nil
	}
	return ruleText{tool: tool, spec: spec}, nil
}

// checkInvisible rejects invisible characters, because a rule with such a character never matches
// what it seems to cover.
func checkInvisible(text string) *parseError {
	for _, c := range text {
		switch {
		case c == 0:
			return &parseError{"it contains a NUL byte", ""}
		case c == ' ', c == '\t', c == '\n':
		case !unicode.IsPrint(c):
			return &parseError{fmt.Sprintf("it contains the invisible character %U", c), "write it again without that character"}
		}
	}
	return nil
}

// closeSpec returns the specifier at the start of s, which is the text after the opening
// parenthesis. The parenthesis that closes it must be the last character of s.
func closeSpec(s string) (string, *parseError) {
	depth := 1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				if i != len(s)-1 {
					return "", &parseError{
						"text after the closing parenthesis",
						`write literal parentheses as \( and \)`,
					}
				}
				return s[:i], nil
			}
		}
	}
	return "", &parseError{
		"the parentheses are not balanced",
		`close the rule with ")", and write a literal parenthesis as \( or \)`,
	}
}

// String returns the rule in its shortest form.
func (r ruleText) String() string {
	if r.bare {
		return r.tool
	}
	return r.tool + "(" + r.spec + ")"
}

func checkTool(name string) *parseError {
	switch {
	case name == "":
		return &parseError{"the rule has no tool", `start with a tool's name: "Bash(npm test)"`}
	case strings.TrimSpace(name) != name:
		return &parseError{"there is a space between the tool and its parentheses", "write " + strings.TrimSpace(name) + "(…)"}
	}
	for _, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', strings.ContainsRune("_-.*", c):
		default:
			return &parseError{
				"a tool's name must not contain " + quoted(c),
				`names consist of letters, digits, "_", "-" and "."; put the specifier in parentheses: "Bash(npm test)"`,
			}
		}
	}
	return nil
}

func quoted(c rune) string { return `"` + string(c) + `"` }

// unescape splits a text at its unescaped stars, and removes the backslash before parentheses,
// stars, colons and backslashes.
func unescape(s string) (parts []string) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '*':
			parts = append(parts, b.String())
			b.Reset()
		case s[i] == '\\' && i+1 < len(s) && strings.IndexByte(`()*:\`, s[i+1]) >= 0:
			i++
			b.WriteByte(s[i])
		default:
			b.WriteByte(s[i])
		}
	}
	return append(parts, b.String())
}
