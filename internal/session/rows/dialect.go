package rows

import (
	"strconv"
	"strings"
)

// Dialect describes how one database differs from the others.
type Dialect struct {
	// Numbered writes parameters as $1, $2, …, otherwise they are ?.
	Numbered bool
	// Expanded writes (a, b) < (x, y) as a < x OR a = x AND b < y, for a database that cannot use
	// an index for the short form.
	Expanded bool
	// Text converts a string for the driver. Text is nil if the driver accepts strings.
	Text func(string) any
	// Hint returns the text after "FROM sessions " that selects an index; may be nil.
	Hint func(index string) string

	// Unbuffered is true if the database finds rows only when they are read, so that queries need
	// no limit.
	Unbuffered bool
	// Key is true if records have one column key, num<<32|seq, in place of num and seq.
	Key bool
	// Epochs is true if sessions have a column epoch with the lease's epoch, 0 without a lease.
	Epochs bool
	// NextEpoch is the query for the next epoch; one counter serves all sessions. CountEpoch is a
	// statement that is executed before it, or "" if there is none.
	CountEpoch, NextEpoch string
	// Clock is the server's time in milliseconds, "" if the server has none.
	Clock string
	// Renewed is the expression that concatenates two parameters with the time of the Clock between
	// them.
	Renewed string
	// ForUpdate, ForShare and LockLease are appended to a query to lock the rows it finds.
	ForUpdate, ForShare, LockLease string
	// Overwrite is the value that a payload is set to before it is erased.
	Overwrite string
	// Source is the name of a table with texts of records; its columns num and source name the
	// record. Index are the names of all tables except records that have rows of a session, by num.
	Source string
	Index  []string
}

// seq returns the column that orders the records of a session.
func (d *Dialect) seq() string {
	if d.Key {
		return "key"
	}
	return "seq"
}

// within returns the condition for the records of a session with low < seq <= high.
func (d *Dialect) within(num, low, high int64) (sql string, args []any) {
	if d.Key {
		return "key > ? AND key <= ?", []any{num<<32 | low, num<<32 | high}
	}
	return "num = ? AND seq > ? AND seq <= ?", []any{num, low, high}
}

// epoch returns the epoch of a session's lease, 0 if there is none.
func (d *Dialect) epoch() string {
	if d.Epochs {
		return "epoch"
	}
	return "coalesce((SELECT epoch FROM leases WHERE leases.id = sessions.id), 0)"
}

// Statement is a statement under construction, with the values of its parameters.
type Statement struct {
	Args []any
	d    *Dialect
	b    strings.Builder
}

// Statement starts a statement with room for some parameters.
func (d *Dialect) Statement(args int) *Statement {
	s := &Statement{d: d, Args: make([]any, 0, args)}
	s.b.Grow(768)
	return s
}

// SQL returns the text written so far.
func (s *Statement) SQL() string { return s.b.String() }

// Add appends text. Each ? in it stands for the next element of args. Strings are converted as the
// dialect requires.
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
	s.Args = append(s.Args, s.d.Params(args)...)
	return s
}

// Params converts parameters for the driver, in place.
func (d *Dialect) Params(args []any) []any {
	if d.Text != nil {
		for i, a := range args {
			if text, ok := a.(string); ok {
				args[i] = d.Text(text)
			}
		}
	}
	return args
}
