package rows

import (
	"strconv"
	"strings"
)

// Dialect says how one database differs from another. The zero value is for SQLite.
type Dialect struct {
	// Numbered writes parameters as $1, $2, …, otherwise they are ?.
	Numbered bool
	// Expanded writes (a, b) < (x, y) as a < x OR a = x AND b < y, for a database
	// that finds no range of an index in the short form.
	Expanded bool
	// Text makes of a string what the driver is given; nil gives it the string.
	Text func(string) any
	// Hint names an index to a query: it stands behind "FROM sessions ". Nil for none.
	Hint func(index string) string
}

// Statement is a statement in the making and the values of its parameters.
type Statement struct {
	Args []any
	d    *Dialect
	b    strings.Builder
}

// Statement begins a statement with room for some parameters.
func (d *Dialect) Statement(args int) *Statement {
	s := &Statement{d: d, Args: make([]any, 0, args)}
	s.b.Grow(768)
	return s
}

// SQL is what was written so far.
func (s *Statement) SQL() string { return s.b.String() }

// Add writes text, each ? of which stands for the next of args. Strings among them go
// over as the dialect says.
func (s *Statement) Add(text string, args ...any) *Statement {
	if !s.d.Numbered {
		s.b.WriteString(text)
	} else {
		for n := len(s.Args) + 1; ; n++ {
			before, after, found := strings.Cut(text, "?")
			s.b.WriteString(before)
			if !found {
				break
			}
			s.b.WriteByte('$')
			s.b.WriteString(strconv.Itoa(n))
			text = after
		}
	}
	for _, a := range args {
		s.Args = append(s.Args, s.d.value(a))
	}
	return s
}

func (d *Dialect) value(a any) any {
	if text, ok := a.(string); ok && d.Text != nil {
		return d.Text(text)
	}
	return a
}
