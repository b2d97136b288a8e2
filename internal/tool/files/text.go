package files

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// text is the content of a file in two forms: raw as it is stored, and seen as a model sees it,
// without a byte order mark and with \n for every line ending.
//
//	raw   "\uFEFFa\r\nb\r\n"
//	seen  "a\nb\n"            crs = [1 3]: a \r was taken away before these
type text struct {
	raw  string // without the mark
	seen string
	crs  []int // positions in seen of a \n that is \r\n in raw
	bom  bool
}

func parseText(data []byte) text {
	var t text
	data, t.bom = bytes.CutPrefix(data, bom)
	t.raw = string(data)
	t.seen = t.raw
	if !strings.Contains(t.raw, "\r\n") {
		return t
	}
	var b strings.Builder
	b.Grow(len(t.raw))
	for rest := t.raw; ; {
		line, tail, found := strings.Cut(rest, "\r\n")
		b.WriteString(line)
		if !found {
			break
		}
		t.crs = append(t.crs, b.Len())
		b.WriteByte('\n')
		rest = tail
	}
	t.seen = b.String()
	return t
}

// bytes returns the file's content.
func (t text) bytes() []byte {
	if t.bom {
		return append(slices.Clone(bom), t.raw...)
	}
	return []byte(t.raw)
}

// rawPosition converts a position in seen to a position in raw.
func (t text) rawPosition(i int) int {
	n, _ := slices.BinarySearch(t.crs, i)
	return i + n
}

// edit is one replacement.
type edit struct {
	Old string `json:"old_string" jsonschema:"The exact text to replace, without line numbers. It must be unique unless replace_all is set"`
	New string `json:"new_string" jsonschema:"The replacement text"`
	All bool   `json:"replace_all,omitempty" jsonschema:"Replace every occurrence"`
}

func (e edit) check() error {
	switch e.Old {
	case "":
		return errors.New("old_string must not be empty")
	case e.New:
		return errors.New("old_string and new_string must differ")
	}
	return nil
}

// apply applies one edit. New line endings are those of the replaced text, or those of most lines
// in the file. It returns the number of replacements. It also returns the positions of the first
// and last replacement in the seen form of the new text.
func (t text) apply(e edit) (out text, n, first, last int, err error) {
	if err := e.check(); err != nil {
		return t, 0, 0, 0, err
	}
	old, fresh := e.Old, e.New
	if len(t.crs) > 0 {
		old, fresh = toLF(old), toLF(fresh)
		if old == fresh {
			return t, 0, 0, 0, errors.New("old_string and new_string must differ in more than line endings")
		}
	}
	found := positions(t.seen, old, e.All)
	switch {
	case len(found) == 0:
		return t, 0, 0, 0, errors.New("old_string not found")
	case len(found) > 1 && !e.All:
		return t, 0, 0, 0, fmt.Errorf("old_string appears %d times, at %s; include more of the surrounding lines, or set replace_all", len(found), t.lineNumbers(found))
	}
	var b strings.Builder
	done := 0
	for _, i := range found {
		from, to := t.rawPosition(i), t.rawPosition(i+len(old))
		b.WriteString(t.raw[done:from])
		if t.usesCRLF(t.raw[from:to]) {
			b.WriteString(strings.ReplaceAll(fresh, "\n", "\r\n"))
		} else {
			b.WriteString(fresh)
		}
		done = to
	}
	b.WriteString(t.raw[done:])
	out = parseText([]byte(b.String()))
	out.bom = t.bom
	grown := len(fresh) - len(old)
	return out, len(found), found[0], found[len(found)-1] + (len(found)-1)*grown + len(fresh), nil
}

// lineNumbers returns the line numbers of positions in the seen form, in the way in which Read numbers
// lineNumbers.
func (t text) lineNumbers(places []int) string {
	const most = 10
	var names []string
	at, line := 0, 1
	for _, i := range places {
		line += strings.Count(t.seen[at:i], "\n")
		at = i
		if name := strconv.Itoa(line); len(names) == 0 || names[len(names)-1] != name {
			names = append(names, name)
		}
	}
	what := "lines "
	if len(names) == 1 {
		what = "line "
	}
	if more := len(names) - most; more > 0 {
		return what + strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", more)
	}
	return what + strings.Join(names, ", ")
}

// usesCRLF reports whether a replacement gets \r\n.
func (t text) usesCRLF(piece string) bool {
	if lf := strings.Count(piece, "\n"); lf > 0 {
		return strings.Count(piece, "\r\n")*2 >= lf
	}
	return len(t.crs)*2 > strings.Count(t.seen, "\n")
}

// positions finds s in text. If only one match is allowed, it also finds overlapping matches: "aa"
// is twice in "aaa".
func positions(text, s string, apart bool) []int {
	var list []int
	for from := 0; ; {
		i := strings.Index(text[from:], s)
		if i < 0 {
			return list
		}
		list = append(list, from+i)
		from += i + 1
		if apart {
			from += len(s) - 1
		}
	}
}

func toLF(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
