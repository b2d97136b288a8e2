package convert

import "strconv"

// out is where a reader's items and lines go: through the pairing to whoever takes them.
//
//	reader ─ item ─► pairer ─► taken
//	       └ aside ──────────► left
type out struct {
	pair  *pairer
	taken func(*item) error
	left  func(kept) error
	cut   func(id string) error // drop what follows an item
	warn  func(line int, format string, args ...any)
}

func newOut(taken func(*item) error, left func(kept) error, warn func(int, string, ...any)) *out {
	return &out{pair: &pairer{emit: taken, warn: warn}, taken: taken, left: left, warn: warn}
}

func (o *out) item(it *item) error { return o.pair.take(it) }
func (o *out) aside(k kept) error  { return o.left(k) }

// back drops the items that follow the one with this id. Their tool uses may come again.
func (o *out) back(id string) error {
	o.pair.open, o.pair.waiting = nil, nil
	return o.cut(id)
}

// lineID names an item that has no id of its own.
func lineID(n int) string { return "line-" + strconv.Itoa(n) }
