package confine

import (
	"fmt"
	"strings"
)

// Flags are the parsed flags and arguments of the command line.
type Flags struct {
	Settings    string
	Write       []string
	Read        []string
	Deny        []string
	AllowDomain []string
	Env         []string
	KeepEnv     bool
	CWD         string
	JSONReport  string
	Quiet       bool
	Command     []string
}

// IsInvocation reports whether a command line, without the program's name, is for this package. It
// also returns the arguments after "sandbox exec".
func IsInvocation(args []string) ([]string, bool) {
	if len(args) < 2 || args[0] != "sandbox" || args[1] != "exec" {
		return nil, false
	}
	return args[2:], true
}

// Parse parses the arguments of "sandbox exec". The command is the first word that is not a flag,
// or the word after "--". The words after the command are its arguments.
func Parse(args []string) (*Flags, error) {
	f := &Flags{}
	texts := map[string]*string{"--settings": &f.Settings, "--cwd": &f.CWD, "--json-report": &f.JSONReport}
	lists := map[string]*[]string{
		"--write": &f.Write, "--read": &f.Read, "--deny": &f.Deny, "--allow-domain": &f.AllowDomain, "--env": &f.Env,
	}
	marks := map[string]*bool{"--keep-env": &f.KeepEnv, "--quiet": &f.Quiet}
	for len(args) > 0 {
		word := args[0]
		if word == "--" || !strings.HasPrefix(word, "-") {
			break
		}
		args = args[1:]
		name, value, given := strings.Cut(word, "=")
		if mark := marks[name]; mark != nil && !given {
			*mark = true
			continue
		}
		text, list := texts[name], lists[name]
		if text == nil && list == nil {
			return nil, fmt.Errorf("unknown flag %s", word)
		}
		if !given {
			if len(args) == 0 {
				return nil, fmt.Errorf("%s: a value is missing", name)
			}
			value, args = args[0], args[1:]
		}
		switch {
		case value == "":
			return nil, fmt.Errorf("%s is empty", name)
		case list != nil:
			*list = append(*list, value)
		default:
			*text = value
		}
	}
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 || args[0] == "" {
		return nil, fmt.Errorf("name the command to run")
	}
	f.Command = args
	return f, nil
}
