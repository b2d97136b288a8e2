package convert

import "strconv"

// readerOutput is where a reader's items and lines go: through the pairing to whoever takes them.
//
//	reader ─ item ─► pairer ─► taken
//	       └ aside ──────────► left
type readerOutput struct {
	pair  *pairing
	taken func(*item) error
	left  func(originalLine) error
	cut   func(id string) error // drop what follows an item
	warn  func(line int, format string, args ...any)
}

func newOut(taken func(*item) error, left func(originalLine) error, warn func(int, string, ...any)) *readerOutput {
	return &readerOutput{pair: &pairing{emit: taken, warn: warn}, taken: taken, left: left, warn: warn}
}

func (o *readerOutput) item(it *item) error           { return o.pair.take(it) }
func (o *readerOutput) unmapped(k originalLine) error { return o.left(k) }

// back drops the items that follow the one with this id. Their tool uses may come again.
func (o *readerOutput) back(id string) error {
	o.pair.open, o.pair.waiting = nil, nil
	return o.cut(id)
}

// lineID names an item that has no id of its own.
func lineID(n int) string { return "line-" + strconv.Itoa(n) }
