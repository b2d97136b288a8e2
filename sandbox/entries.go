package sandbox

import (
	"fmt"
	"path"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/sandbox/realpath"
)

// checkPathEntry checks the text of an entry of a path list.
func checkPathEntry(text string) (what, hint string) {
	rest, _ := cutHome(text)
	switch {
	case text == "":
		return `"" is empty`, `remove it, or write "/" for everything`
	case strings.IndexByte(text, 0) >= 0:
		return fmt.Sprintf("%q contains a NUL byte", text), "remove it"
	case strings.ContainsAny(text, "*?"):
		return fmt.Sprintf("%q is a pattern; want a path", text), "write the folder; it includes everything below it"
	case strings.HasPrefix(rest, "~"):
		return fmt.Sprintf("%q: the home folder of another user is not known", text), "write the absolute path"
	case hasVariable(rest):
		return fmt.Sprintf("%q contains a variable", text), "write the absolute path; only ~ and $HOME are expanded"
	}
	return "", ""
}

// cutHome removes a leading "~", "$HOME" or "${HOME}" from a path.
func cutHome(text string) (rest string, ok bool) {
	for _, name := range []string{"~", "$HOME", "${HOME}"} {
		if r, found := strings.CutPrefix(text, name); found && (r == "" || r[0] == '/') {
			return r, true
		}
	}
	return text, false
}

// hasVariable reports whether a component of a path starts with something that a shell would expand.
func hasVariable(text string) bool {
	for part := range strings.SplitSeq(text, "/") {
		if len(part) > 1 && part[0] == '$' && (part[1] == '{' || part[1] == '_' || isLetter(part[1])) {
			return true
		}
	}
	return false
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// checkCommandEntry checks the text of an entry of a command list.
func checkCommandEntry(text string) (what, hint string) {
	switch {
	case text == "":
		return `"" is empty`, "remove it"
	case strings.ContainsAny(text, "*?"):
		return fmt.Sprintf("%q is a pattern; want the name of a program", text), "list the programs one by one"
	case strings.ContainsAny(text, " \t\n\r\x00\"'\\|&;<>()$`"):
		return fmt.Sprintf("%q is more than the name of a program", text), "write only the program name; use rules to decide about its arguments"
	case strings.HasSuffix(text, "/"):
		return fmt.Sprintf("%q is a folder; want a program", text), "list the programs one by one"
	}
	return "", ""
}

// tree is a compiled configured path.
type tree struct {
	entry    string // as written
	literal  string // absolute and clean
	resolved string // with symbolic links resolved
}

// covers reports whether a canonical path is the tree or inside it.
func (t *tree) covers(p string) bool { return within(p, t.literal) || within(p, t.resolved) }

// within reports whether p is root or inside it. Both are clean.
func within(p, root string) bool {
	switch {
	case root == "/":
		return true
	case !strings.HasPrefix(p, root):
		return false
	}
	return len(p) == len(root) || p[len(root)] == '/'
}

// compileTrees reads a list of configured paths.
func compileTrees(field string, list []string, dir, home string) ([]tree, error) {
	out := make([]tree, len(list))
	for i, entry := range list {
		name := fmt.Sprintf("%s[%d]", field, i)
		if what, hint := checkPathEntry(entry); what != "" {
			return nil, &Error{Field: name, Detail: what, hint: hint}
		}
		p := entry
		if rest, ok := cutHome(entry); ok {
			p = "~" + rest
		}
		full, err := realpath.Absolute(p, dir, home)
		if err != nil {
			return nil, &Error{Field: name, Detail: fmt.Sprintf("%q: %v", entry, err), hint: "write an absolute path"}
		}
		resolved, err := realpath.Resolve(full)
		if err != nil {
			return nil, &Error{Field: name, Detail: fmt.Sprintf("%q: %v", entry, err), hint: "write the path without links"}
		}
		out[i] = tree{entry: entry, literal: path.Clean(full), resolved: resolved}
	}
	return out, nil
}

// programs is a compiled list of commands.
type programs struct {
	names  map[string]string // the name of a program → the entry
	paths  map[string]string // the clean path of a program → the entry
	folded map[string]string // the name of either, in lower case → the entry
}

// compilePrograms reads a list of commands. Entries with a "/" are relative to dir.
func compilePrograms(field string, list []string, dir, home string) (*programs, error) {
	out := &programs{names: map[string]string{}, paths: map[string]string{}, folded: map[string]string{}}
	for i, entry := range list {
		name := fmt.Sprintf("%s[%d]", field, i)
		if what, hint := checkCommandEntry(entry); what != "" {
			return nil, &Error{Field: name, Detail: what, hint: hint}
		}
		out.folded[strings.ToLower(path.Base(entry))] = entry
		if !strings.Contains(entry, "/") {
			out.names[entry] = entry
			continue
		}
		full, err := realpath.Absolute(entry, dir, home)
		if err != nil {
			return nil, &Error{Field: name, Detail: fmt.Sprintf("%q: %v", entry, err), hint: "write an absolute path"}
		}
		out.paths[path.Clean(full)] = entry
	}
	return out, nil
}
