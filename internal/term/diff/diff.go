// Package diff draws unified diffs as lines of a terminal.
//
//	11   func Add(a, b int) int {
//	12 -     return a - b
//	12 +     return a + b
//	13   }
//
// What a line adds, removes or keeps is a sign, and also a color where the terminal has them. The words that differ
// between two lines are marked. Long lines are folded: every character of the diff is shown, also invisible ones.
package diff

import (
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-dev/holdfast/internal/term"
	"github.com/holdfast-dev/holdfast/internal/term/paint"
)

// Options are the options of [Lines].
type Options struct {
	Palette paint.Palette
	Limit   int // the maximum number of lines of the result; 0 means no limit
}

// row is a line of a diff.
type row struct {
	sign     byte // ' ', '-', '+'; '@' for what is between hunks, '!' for a remark
	old, new int  // numbers of the line; 0 if they are not known
	text     string
	marks    [][2]int // the parts of the text that differ from its partner
	partner  int      // index of the line that replaces this one or is replaced by it, plus 1
}

// Lines returns the lines of a unified diff; its headers and hunk headers can be missing. Two columns need a width of
// about 120; a diff that only adds or only removes lines has one.
func Lines(o *Options, text string, width int, sideBySide bool) []string {
	rows := parse(text, o.Limit)
	pair(rows)
	p := painter{o: o, width: max(width, 20)}
	for _, r := range rows {
		if n := max(r.old, r.new); n > 0 {
			p.digits = max(p.digits, len(strconv.Itoa(n)), 2)
		}
	}
	if sideBySide && hasSign(rows, '-') && hasSign(rows, '+') {
		p.sides(rows)
	} else {
		p.unified(rows)
	}
	return p.lines
}

func hasSign(rows []row, sign byte) bool {
	return slices.ContainsFunc(rows, func(r row) bool { return r.sign == sign })
}

// Count returns how many lines a diff adds and removes.
func Count(text string) (added, removed int) {
	for _, r := range parse(text, 0) {
		switch r.sign {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// parse reads a diff; after some more than limit changed lines it stops.
func parse(text string, limit int) (rows []row) {
	crlf := strings.Contains(text, "\r\n")
	var old, fresh int       // the numbers of the next lines
	leftOld, leftNew := 0, 0 // the lines that the hunk still has
	known := false           // a hunk header was seen
	for l := range strings.Lines(text) {
		l = strings.TrimSuffix(l, "\n")
		inHunk := leftOld > 0 || leftNew > 0
		switch {
		case strings.HasPrefix(l, "@@ ") && !inHunk:
			a, b, ok := hunk(l)
			if !ok {
				break
			}
			if known || a[0] > 1 && len(rows) > 0 {
				rows = append(rows, row{sign: '@'})
			}
			old, fresh, leftOld, leftNew, known = a[0], b[0], a[1], b[1], true
			continue
		case !inHunk && (strings.HasPrefix(l, "--- ") || strings.HasPrefix(l, "+++ ")) && (known || len(rows) == 0):
			known = false
			continue
		}
		r := row{sign: '!', text: l}
		if l == "" {
			l = " "
		}
		if s := l[0]; (s == ' ' || s == '+' || s == '-') && (inHunk || !known) {
			r.sign, r.text = s, l[1:]
			if s != '+' && known {
				r.old, old, leftOld = old, old+1, leftOld-1
			}
			if s != '-' && known {
				r.new, fresh, leftNew = fresh, fresh+1, leftNew-1
			}
			crlf = crlf && strings.HasSuffix(r.text, "\r")
		}
		rows = append(rows, r)
		if limit > 0 && len(rows) > limit+100 {
			break
		}
	}
	for i := range rows {
		if crlf { // every line has it, so it says nothing
			rows[i].text = strings.TrimSuffix(rows[i].text, "\r")
		}
		rows[i].text = term.EscapeStrict(rows[i].text)
	}
	return rows
}

// hunk reads "@@ -12,3 +12,4 @@": the first line and the number of lines on both sides.
func hunk(l string) (old, fresh [2]int, ok bool) {
	f := strings.Fields(l)
	if len(f) < 4 || f[3] != "@@" || f[1][0] != '-' || f[2][0] != '+' {
		return old, fresh, false
	}
	read := func(s string) (r [2]int, ok bool) {
		first, count, both := strings.Cut(s[1:], ",")
		if !both {
			count = "1"
		}
		a, err := strconv.ParseUint(first, 10, 31)
		b, err2 := strconv.ParseUint(count, 10, 31)
		return [2]int{int(a), int(b)}, err == nil && err2 == nil
	}
	old, ok = read(f[1])
	fresh, ok2 := read(f[2])
	return old, fresh, ok && ok2
}

// pair finds the lines of each change that replace each other, and marks the words that differ.
func pair(rows []row) {
	for i := 0; i < len(rows); {
		if rows[i].sign != '-' {
			i++
			continue
		}
		removed := i
		for i < len(rows) && rows[i].sign == '-' {
			i++
		}
		added := i
		for i < len(rows) && rows[i].sign == '+' {
			i++
		}
		pairChange(rows, removed, added, i)
	}
}

// searched is the number of added lines that are compared with a removed line.
const searched = 10

// pairChange pairs similar lines, and what is between them in order.
func pairChange(rows []row, removed, added, end int) {
	join := func(a, b int) { rows[a].partner, rows[b].partner = b+1, a+1 }
	from, to := removed, added // the first lines that have no partner yet
	for a := removed; a < added; a++ {
		for b := to; b < min(to+searched, end); b++ {
			inOld, inNew := changes(rows[a].text, rows[b].text)
			if inOld == nil && inNew == nil {
				continue
			}
			rows[a].marks, rows[b].marks = inOld, inNew
			for ; from < a && to < b; from, to = from+1, to+1 {
				join(from, to)
			}
			join(a, b)
			from, to = a+1, b+1
			break
		}
	}
	for ; from < added && to < end; from, to = from+1, to+1 {
		join(from, to)
	}
}
