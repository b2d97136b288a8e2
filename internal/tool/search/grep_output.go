package search

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/holdfast-dev/holdfast/tool"
	"github.com/holdfast-dev/holdfast/transcript"
)

const maxLine = 500 // bytes of a line that are shown

// grepOutput collects what Grep has found, up to the limit.
//
//	content             path:12:the line     path-13-context     -- between groups
//	files_with_matches  path
//	count               path:3
type grepOutput struct {
	mode          string
	cwd           string
	limit         int // lines; 0 for none
	numbers       bool
	before, after int

	b       strings.Builder
	lines   int
	files   int
	matches int  // matching lines, in count mode
	full    bool // the limit was reached

	large   int // number of files that were too large to search
	skipped int // number of folders that could not be read
}

func newGrepOutput(in grepInput, cwd string) *grepOutput {
	a := &grepOutput{mode: in.Mode, cwd: cwd, limit: maxLines, numbers: in.Numbers == nil || *in.Numbers}
	if a.mode == "" {
		a.mode = modeFiles
	}
	if in.HeadLimit != nil {
		a.limit = *in.HeadLimit
	}
	a.before, a.after = max(in.Before, in.Context), max(in.After, in.Context)
	return a
}

// line adds a line, or records that the line no longer fits.
func (a *grepOutput) line(s string) bool {
	if a.limit > 0 && a.lines >= a.limit || a.b.Len()+len(s) >= maxBytes {
		a.full = true
		return false
	}
	a.b.WriteString(s)
	a.b.WriteByte('\n')
	a.lines++
	return true
}

// file adds the matches of one file.
func (a *grepOutput) file(abs string, content []byte, m *matcher) {
	if a.full {
		return
	}
	first := m.next(content, 0)
	if first.from < 0 {
		return
	}
	name := shorten(a.cwd, abs)
	switch a.mode {
	case modeFiles:
		if a.line(name) {
			a.files++
		}
	case modeCount:
		n := 0
		for at := first; at.from >= 0; at = m.next(content, at.to+1) {
			n += 1 + bytes.Count(content[at.from:at.to], []byte("\n"))
		}
		if a.line(fmt.Sprintf("%s:%d", name, n)) {
			a.files++
			a.matches += n
		}
	default:
		a.files++
		a.content(name, content, m, first)
	}
}

// content adds the matching lines with their context.
func (a *grepOutput) content(name string, content []byte, m *matcher, first span) {
	p := &pager{grepOutput: a, name: name, content: content, number: 1}
	shownTo := -1 // end of the last line that was shown
	for at := first; at.from >= 0 && !a.full; {
		next := m.next(content, at.to+1)
		from := back(content, at.from, a.before)
		if shownTo >= 0 && from <= shownTo+1 {
			from = shownTo + 1 // this group continues where the last group ended
		} else if a.lines > 0 && a.before+a.after > 0 && !a.line("--") {
			return
		}
		p.show(from, at.from, '-', m)
		p.show(at.from, at.to+1, ':', m)
		to := forward(content, at.to, a.after)
		if next.from >= 0 && to >= next.from {
			to = next.from - 1
		}
		p.show(at.to+1, to+1, '-', m)
		shownTo = to
		at = next
	}
}

// pager writes numbered lines of one file.
type pager struct {
	*grepOutput
	name    string
	content []byte
	at      int // the position of number
	number  int
}

// show writes the lines that start in [from, to).
func (p *pager) show(from, to int, mark byte, m *matcher) {
	for from < to && from < len(p.content) && !p.full {
		end := lineEnd(p.content, from)
		line := p.name + string(mark)
		if p.numbers {
			p.number += bytes.Count(p.content[p.at:from], []byte("\n"))
			p.at = from
			line += strconv.Itoa(p.number) + string(mark)
		}
		p.line(line + clipLine(p.content[from:end], m))
		from = end + 1
	}
}

// back moves n lines back from the start of a line.
func back(b []byte, at, n int) int {
	for ; n > 0 && at > 0; n-- {
		at = lineStart(b, at-1)
	}
	return at
}

// forward moves n lines forward from the end of a line, and returns the end of that line.
func forward(b []byte, end, n int) int {
	for ; n > 0 && end+1 < len(b); n-- {
		end = lineEnd(b, end+1)
	}
	return end
}

// clipLine truncates a long line around its first match.
func clipLine(line []byte, m *matcher) string {
	if len(line) <= maxLine {
		return strings.ToValidUTF8(string(line), "\uFFFD")
	}
	from := 0
	if found := m.re.FindIndex(line); found != nil && found[1] > maxLine {
		from = min(max(found[0]-maxLine/4, 0), len(line)-maxLine)
	}
	to := min(from+maxLine, len(line))
	for from > 0 && !utf8.RuneStart(line[from]) {
		from--
	}
	for to < len(line) && !utf8.RuneStart(line[to]) {
		to--
	}
	s := strings.ToValidUTF8(string(line[from:to]), "\uFFFD")
	if from > 0 {
		s = "…" + s
	}
	if to < len(line) {
		s += "…"
	}
	return s
}

// result returns the complete answer.
func (a *grepOutput) result(pattern string) tool.Result {
	found := a.b.String()
	var notes []string
	switch {
	case a.lines == 0 && !a.full && a.mode == modeFiles:
		found = fmt.Sprintf("No files matched the pattern %q", pattern)
	case a.lines == 0 && !a.full:
		found = fmt.Sprintf("No matches found for pattern %q", pattern)
	case a.full:
		notes = append(notes, fmt.Sprintf("[only the first %d lines are shown; narrow the search or increase head_limit]", a.lines))
	case a.mode == modeCount:
		notes = append(notes, fmt.Sprintf("[%d matching lines in %d files]", a.matches, a.files))
	}
	if a.large > 0 {
		notes = append(notes, fmt.Sprintf("[%d files larger than %d MiB were not searched]", a.large, maxFile>>20))
	}
	notes = append(notes, unreadableNote(a.skipped))
	return resultWithNotes(found, notes...)
}

// resultWithNotes returns what was found, with notes.
func resultWithNotes(found string, notes ...string) tool.Result {
	notes = slices.DeleteFunc(notes, func(n string) bool { return n == "" })
	var r tool.Result
	for _, text := range []string{strings.TrimSuffix(found, "\n"), strings.Join(notes, "\n")} {
		if text != "" {
			r.Content = append(r.Content, transcript.Text{Text: text})
		}
	}
	return r
}
