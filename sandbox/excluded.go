package sandbox

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/environ"
	"github.com/holdfast-dev/holdfast/internal/shellparse"
)

// prefix is a compiled command prefix: "docker", "git push".
type prefix struct {
	entry   string
	program *programs
	args    []string
}

// prefixWords returns the words of an entry. It removes the ending " *" or ":*" that some entries
// of Claude Code have, because every entry is a prefix.
func prefixWords(entry string) []string {
	entry = strings.TrimSuffix(strings.TrimSuffix(entry, ":*"), " *")
	return strings.Fields(entry)
}

// checkPrefixEntry checks the text of an entry of excludedCommands.
func checkPrefixEntry(text string) (what, hint string) {
	words := prefixWords(text)
	if len(words) == 0 {
		return fmt.Sprintf("%q is empty", text), `write the program and the words that follow it, such as "git push"`
	}
	for i, w := range words {
		if i == 0 {
			what, hint = checkCommandEntry(w)
		} else if strings.ContainsAny(w, "*?\x00\"'\\|&;<>()$`") {
			what, hint = fmt.Sprintf("%q contains more than plain words", text), `write the program and the words that follow it, such as "git push"`
		}
		if what != "" {
			return what, hint
		}
	}
	return "", ""
}

func compilePrefixes(field string, list []string, dir, home string) ([]prefix, error) {
	out := make([]prefix, len(list))
	for i, entry := range list {
		name := fmt.Sprintf("%s[%d]", field, i)
		if what, hint := checkPrefixEntry(entry); what != "" {
			return nil, &Error{Field: name, Detail: what, hint: hint}
		}
		words := prefixWords(entry)
		program, err := compilePrograms(field, words[:1], dir, home)
		if e, ok := errors.AsType[*Error](err); ok {
			e.Field = name
		}
		if err != nil {
			return nil, err
		}
		out[i] = prefix{entry, program, words[1:]}
	}
	return out, nil
}

// matches reports whether a command starts with this prefix and runs the system's program of that
// name.
func (p *prefix) matches(cmd *shellparse.Command) bool {
	if len(cmd.Args) < len(p.args) || !p.program.allows(cmd) || slices.ContainsFunc(cmd.Assigns, environ.Dangerous) {
		return false
	}
	for i, word := range p.args {
		if a := cmd.Args[i]; !a.Static || a.Text != word {
			return false
		}
	}
	return true
}

// matchPrefix returns the entry that matches the start of a command.
func matchPrefix(list []prefix, cmd *shellparse.Command) (string, bool) {
	i := slices.IndexFunc(list, func(p prefix) bool { return p.matches(cmd) })
	if i < 0 {
		return "", false
	}
	return list[i].entry, true
}
