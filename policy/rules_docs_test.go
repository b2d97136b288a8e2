package policy

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var inCode = regexp.MustCompile("`([^`]+)`")

// Every example in docs/reference/rules.md is correct. The tables are "allow | allows | does not
// allow" and "deny | denies | does not deny".
func TestRulesDocument(t *testing.T) {
	doc, err := os.ReadFile("../docs/reference/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	var effect Effect
	examples := 0
	for line := range strings.Lines(string(doc)) {
		cells := tableCells(line)
		switch {
		case len(cells) != 3 || strings.HasPrefix(cells[0], "---"):
			if len(cells) == 0 {
				effect = NoOpinion
			}
			continue
		case cells[0] == string(Allow) || cells[0] == string(Deny):
			effect = Effect(cells[0])
			continue
		case effect == NoOpinion:
			continue
		}
		text := inCode.FindStringSubmatch(cells[0])[1]
		source := RuleSource{Effect: effect, Text: text, Dir: "/w"}
		r, problems, err := RuleOptions{Home: "/home/u", Cwd: "/w"}.Compile([]RuleSource{source})
		if err != nil || len(problems) > 0 {
			t.Fatalf("%s: %v %v", text, problems, err)
		}
		for i, cell := range cells[1:] {
			for _, call := range inCode.FindAllStringSubmatch(cell, -1) {
				examples++
				if v := r.Evaluate(written(call[1])); (v.Effect == effect) != (i == 0) {
					t.Errorf("%s %s: %s: %+v", effect, text, call[1], v)
				}
			}
		}
	}
	if examples < 150 {
		t.Errorf("%d examples were found", examples)
	}
}

// tableCells splits a table row; a "|" in a cell is written "\|".
func tableCells(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	cells := strings.Split(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00"), "|")
	for i, c := range cells {
		cells[i] = strings.TrimSpace(strings.ReplaceAll(c, "\x00", "|"))
	}
	return cells
}

// written is a call as the document writes it: "Read a.txt", or a command line.
func written(call string) Request {
	name, rest, _ := strings.Cut(call, " ")
	switch {
	case strings.HasPrefix(name, "mcp__"):
		r := mcp(name)
		r.Input = []byte(rest)
		return r
	case name == "Agent" || name == "Skill":
		return input(name, rest)
	case name == "WebFetch":
		return fetch(rest)
	case name == "Read":
		return read(absolute(rest, "/w"))
	case name == "Edit" || name == "Write" || name == "MultiEdit":
		r := write(absolute(rest, "/w"))
		r.Tool = name
		return r
	}
	return bash(call)
}
