package convert

import "strconv"

// readerOutput receives a reader's items and lines and passes them on through the pairing.
//
//	reader ─ item ─────► pairing ─► taken
//	       └ unmapped ────────────► left
type readerOutput struct {
	pair         *pairing
	taken        func(*item) error
	unmappedLine func(originalLine) error
	cut          func(id string) error // removes everything after an item
	warn         func(line int, format string, args ...any)
}

func newReaderOutput(taken func(*item) error, left func(originalLine) error, warn func(int, string, ...any)) *readerOutput {
	return &readerOutput{pair: &pairing{emit: taken, warn: warn}, taken: taken, unmappedLine: left, warn: warn}
}

func (o *readerOutput) item(it *item) error           { return o.pair.take(it) }
func (o *readerOutput) unmapped(k originalLine) error { return o.unmappedLine(k) }

// truncate removes the items after the item with this id. The tool uses of these items may occur
// again.
func (o *readerOutput) truncate(id string) error {
	o.pair.open, o.pair.waiting = nil, nil
	return o.cut(id)
}

// lineID returns the id of an item that has none in the source.
func lineID(n int) string { return "line-" + strconv.Itoa(n) }
