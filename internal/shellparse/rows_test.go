package shellparse

import (
	"slices"
	"strings"
	"testing"
)

// rowsOfTables are all rows in the order of the tables: a later one takes the place
// of an earlier one.
func rowsOfTables() (out []*program) {
	for _, t := range [...]string{
		wrapperRows, toolRows, shellRows, builtinRows, fileRows, textRows, archiveRows, netRows,
		gitRows, buildRows, systemRows, containerRows, codeRows, machineRows, starterRows,
	} {
		for row := range strings.SplitSeq(strings.ReplaceAll(t, "\n ", " "), "\n") {
			names, rest, ok := strings.Cut(row, "|")
			if !ok {
				continue
			}
			if strings.Count(names, ",") > 40 {
				continue // a row of many tools, which a more exact one replaces for some
			}
			for name := range strings.SplitSeq(names, ",") {
				out = append(out, &program{name: strings.TrimSpace(name), row: rest})
			}
		}
	}
	return out
}

// A row that takes the place of another for a program that changes nothing still has
// each option of it that does harm.
func TestRowsThatReplaceOthersKeepWhatIsUnsafe(t *testing.T) {
	for _, p := range rowsOfTables() {
		now := lookupExact(p.name)
		if p.row == now.row || !now.marks.safe || now.special != "" || p.name == "wdiff" { // wdiff has no option -o
			continue
		}
		lost := &program{name: p.name, row: p.row}
		lost.compile()
		for spelling, o := range lost.options {
			if have := now.options[spelling]; o.unsafe && (have != nil && !have.unsafe || have == nil && now.marks.any) {
				t.Errorf("%s %s does harm, but the row that is used is one that does not know it", p.name, spelling)
			}
		}
	}
}

// A row names each program once.
func TestRowsNameAProgramOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range rowsOfTables() {
		key := p.name + "|" + p.row
		if seen[key] {
			t.Errorf("a row has %s twice", p.name)
		}
		seen[key] = true
	}
}

// Every row can be read, and what it says holds together.
func TestRowsHoldTogether(t *testing.T) {
	for name := range tables() {
		p := lookupExact(name)
		operands := append(append([]role{p.repeat}, p.before...), p.after...)
		if p.marks.wrapper && p.command() < 0 && p.special == "" && !slices.Contains(operands, roleLine) {
			t.Errorf("%s only runs its operands, and none of them is a command or a line", name)
		}
		for spelling, o := range p.options {
			if spelling == "" || spelling[0] != '-' && spelling[0] != '+' && spelling[0] != '%' {
				t.Errorf("%s has the option %q", name, spelling)
			}
			if writesRole(o.role) && !o.unsafe {
				t.Errorf("%s %s writes and is safe", name, spelling)
			}
		}
	}
}

func writesRole(r role) bool { return r != 0 && strings.IndexByte("wWmMxH", byte(r)) >= 0 }

// A subcommand has a row only when its program has one that looks for it.
func TestRowsOfSubcommandsAreReached(t *testing.T) {
	for name := range tables() {
		program, sub, ok := strings.Cut(name, " ")
		if !ok {
			continue
		}
		p := lookupExact(program)
		if p == nil {
			t.Errorf("the row %q is never read: %s has no row", name, program)
			continue
		}
		if slices.Contains(p.before, roleSub) {
			continue
		}
		inv := &invocation{name: program, program: word{text: program, static: true}}
		for a := range strings.FieldsSeq(sub) {
			inv.args = append(inv.args, word{text: a, static: true})
		}
		if p.special == "" {
			t.Errorf("the row %q is never read: the row of %s has no subcommand", name, program)
		}
	}
}
