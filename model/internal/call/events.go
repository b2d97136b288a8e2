package call

import (
	"bufio"
	"bytes"
	"io"
)

// maxEvent is the maximum size of the data of one server-sent event.
const maxEvent = 32 << 20

// Events reads the data of server-sent events as defined by the HTML standard. Names, ids and
// comments are skipped, because providers repeat the name of an event in its data.
//
//	events := call.NewEvents(res.Body)
//	for events.Next() {
//		use(events.Data())
//	}
//	err := events.Err()
type Events struct {
	in   *bufio.Reader
	long []byte // a line that did not fit into the reader's buffer
	data []byte
	err  error
}

// NewEvents reads events from body. The caller closes body.
func NewEvents(body io.Reader) *Events {
	return &Events{in: bufio.NewReaderSize(body, 16<<10)}
}

// Next reads the next event with data. It returns false at the end of the stream, and after an
// error. An incomplete event at the end is dropped, as the standard requires.
func (e *Events) Next() bool {
	e.data = e.data[:0]
	found := false
	for e.err == nil {
		line, err := e.line()
		switch {
		case err == io.EOF:
			return false
		case err != nil:
			e.err = err
			return false
		case len(line) == 0 && found:
			return true
		}
		value, ok := bytes.CutPrefix(line, []byte("data"))
		if !ok || len(value) > 0 && value[0] != ':' {
			continue
		}
		value, _ = bytes.CutPrefix(value, []byte(":"))
		value, _ = bytes.CutPrefix(value, []byte(" "))
		if found {
			e.data = append(e.data, '\n')
		}
		if len(e.data)+len(value) > maxEvent {
			e.err = bufio.ErrTooLong
			return false
		}
		e.data, found = append(e.data, value...), true
	}
	return false
}

// Data is the data of the event, without its last newline. It is valid until the next
// call of Next.
func (e *Events) Data() []byte { return e.data }

// Err returns the error that ended the stream, or nil if the stream ended normally.
func (e *Events) Err() error { return e.err }

// line reads a line without its line ending: LF or CRLF. Text after the last line ending is not a line.
func (e *Events) line() ([]byte, error) {
	line, err := e.in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		e.long = append(e.long[:0], line...)
		for err == bufio.ErrBufferFull {
			if len(e.long) > maxEvent {
				return nil, bufio.ErrTooLong
			}
			line, err = e.in.ReadSlice('\n')
			e.long = append(e.long, line...)
		}
		line = e.long
	}
	if err != nil {
		return nil, err
	}
	line = line[:len(line)-1]
	return bytes.TrimSuffix(line, []byte("\r")), nil
}
