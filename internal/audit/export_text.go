package audit

import (
	"fmt"
	"strings"
)

// resources returns the resources of the entry as text: "fs.write /w/a".
func (e *Entry) resources() []string {
	var list []string
	for _, r := range e.Resources {
		list = append(list, strings.TrimSpace(r.Operation+" "+r.Name))
	}
	return list
}

// changes returns the changed files as text: path, digest before and digest after.
func (e *Entry) changes() []string {
	var list []string
	for _, c := range e.Changes {
		list = append(list, fmt.Sprintf("%s %s → %s", c.Path, c.Before, c.After))
	}
	return list
}

func (e *Entry) ruleText() string {
	if e.Rule == nil {
		return ""
	}
	return e.Rule.Rule
}

// rulePlace returns where a rule is defined: file:line, or its settings layer if it is not in a
// file.
func (e *Entry) rulePlace() string {
	switch {
	case e.Rule == nil:
		return ""
	case e.Rule.File == "":
		return e.Rule.Layer
	case e.Rule.Line == 0:
		return e.Rule.File
	}
	return fmt.Sprintf("%s:%d", e.Rule.File, e.Rule.Line)
}

// Sentence returns a one-line description of the entry.
func (e *Entry) Sentence() string {
	about := e.Tool
	if len(e.Resources) > 0 {
		about = strings.TrimSpace(about + " " + e.Resources[0].Name)
		if n := len(e.Resources) - 1; n > 0 {
			about += fmt.Sprintf(" and %d more", n)
		}
	}
	if e.Event != "" {
		about = strings.TrimSpace(e.Event + " " + about)
	}
	s := fmt.Sprintf("%s %s by %s", e.Kind, e.Action, e.Actor)
	if about != "" {
		s += ": " + about
	}
	if e.Outcome != "" {
		s += " (" + e.Outcome + ")"
	}
	return s
}
